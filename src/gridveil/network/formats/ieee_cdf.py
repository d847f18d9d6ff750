"""Files in the IEEE Common Data Format (.ieee, .cdf; often .txt) through PowSyBl."""

from collections.abc import Sequence
from pathlib import Path

from gridveil.network.formats.base import ReadOnlyFormat, first_bytes
from gridveil.network.formats.fixed_width import cells_of_lines
from gridveil.network.formats.powsybl.injections import INJECTION_KINDS
from gridveil.network.formats.powsybl.reader import import_pypowsybl, load_text, network_of, text_of
from gridveil.network.formats.text_cells import blanked, check_loads
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind

_LOADS = {"p": (41, 49), "q": (50, 59)}
_NAME = (1, 4)
_BASE = slice(31, 37)
"""Where the title line has the base in MVA."""
_SECTIONS = ("BUS DATA FOLLOWS", "BRANCH DATA FOLLOWS")
_END = "-999"


class IeeeCdfFormat(ReadOnlyFormat):
    """Files in the IEEE Common Data Format."""

    name = "ieee-cdf"
    suffixes = (".ieee", ".cdf")
    injection_kinds = INJECTION_KINDS

    def recognises(self, path: Path) -> bool:
        """Return whether the second line begins the bus data."""
        return b"BUS DATA FOLLOWS" in first_bytes(path, 400).upper()

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; buses keep their numbers."""
        import_pypowsybl()
        text = text_of(path)
        _check_sections(path, text)
        cells = list(cells_of_lines(text, "BUS DATA", _END, _NAME, _LOADS))
        check_loads(path, text, cells)
        base_mva = _base_mva(path, text)
        source = load_text(path, "txt", text, blanked(text, cells))
        return network_of(source, path, load_buses, base_mva, None, self._public)


def _check_sections(path: Path, text: str) -> None:
    lines = text.split("\n")
    for section in _SECTIONS:
        at = [i for i, line in enumerate(lines) if line.upper().startswith(section)]
        if not at:
            reason = f"it has no line {section!r}"
            raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])
        if not any(line.startswith(_END) for line in lines[at[0] :]):
            reason = f"the data after {section!r} do not end with {_END}: the file is cut off"
            raise CaseError(path, [Problem(ProblemKind.MISSING, reason, line=at[0] + 1)])


def _base_mva(path: Path, text: str) -> float:
    field = text.split("\n", 1)[0][_BASE].strip()
    try:
        base = float(field or 100.0)
    except ValueError:
        base = float("nan")
    if not 0 < base < float("inf"):
        reason = "columns 32 to 37 of the title are the base in MVA, a number above 0"
        raise CaseError(path, [Problem(ProblemKind.OUT_OF_RANGE, reason, line=1)])
    return base
