"""UCTE-DEF files (.uct) through PowSyBl."""

from collections.abc import Sequence
from pathlib import Path

from gridveil.network.formats.base import ReadOnlyFormat, first_bytes
from gridveil.network.formats.fixed_width import cells_of_lines
from gridveil.network.formats.powsybl.injections import INJECTION_KINDS
from gridveil.network.formats.powsybl.reader import import_pypowsybl, load_text, network_of, text_of
from gridveil.network.formats.text_cells import blanked, check_loads
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind

_LOADS = {"p": (34, 40), "q": (42, 48)}
_NAME = (1, 8)
_BLOCKS = ("##N", "##L")
"""The blocks without which there is no network: nodes and lines."""


class UcteFormat(ReadOnlyFormat):
    """UCTE-DEF files."""

    name = "ucte"
    suffixes = (".uct", ".ucte")
    injection_kinds = INJECTION_KINDS

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins with a comment or node block."""
        return first_bytes(path, 3) in (b"##C", b"##N")

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; a load is known by its node."""
        import_pypowsybl()
        text = text_of(path)
        missing = [block for block in _BLOCKS if not _has_block(text, block)]
        if missing:
            reason = f"it has no block {missing[0]}: not a UCTE-DEF file, or one that is cut off"
            raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])
        cells = list(cells_of_lines(text, "##Z", "##L", _NAME, _LOADS))
        check_loads(path, text, cells)
        source = load_text(path, "uct", text, blanked(text, cells))
        return network_of(source, path, load_buses, public_injections=self._public)


def _has_block(text: str, block: str) -> bool:
    return any(line.startswith(block) for line in text.split("\n"))
