"""Result tables as Markdown, with the machine and the date they were measured on."""

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def write_table(
    name: str, intro: str, headings: Sequence[str], rows: Iterable[Sequence[object]]
) -> Path:
    """Write results/NAME.md and return its path."""
    lines = [
        f"# {name.replace('_', ' ')}",
        "",
        intro,
        "",
        f"Written by `python -m benchmarks.{name}` on {datetime.date.today()}, {_machine()}.",
        "",
        "| " + " | ".join(headings) + " |",
        "|" + " --- |" * len(headings),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
        "",
    ]
    path = RESULTS / f"{name}.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _machine() -> str:
    found = [name for name in ("numpy", "casadi") if find_spec(name)]
    packages = ", ".join(f"{name} {version(name)}" for name in found)
    return f"{_cpu()} ({os.cpu_count()} cores), Python {platform.python_version()}, {packages}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
