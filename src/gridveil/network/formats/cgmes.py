"""CGMES: a zip archive or a folder of profiles, through PowSyBl."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridveil.errors import GridveilError
from gridveil.files import write_atomically
from gridveil.network.formats.base import ReadOnlyFormat, first_bytes
from gridveil.network.formats.case_rows import named
from gridveil.network.formats.cgmes_profiles import (
    INJECTION,
    STATE,
    archive_of,
    check_well_formed,
    load_cells,
    profiles_of,
    read_profiles,
)
from gridveil.network.formats.powsybl.injections import INJECTION_KINDS
from gridveil.network.formats.powsybl.reader import import_pypowsybl, load_archive, network_of
from gridveil.network.formats.text_cells import Cell, blanked, check_loads, with_cells
from gridveil.network.formats.write_back import released_values
from gridveil.network.network import Network
from gridveil.network.problems import CaseError


class CgmesFormat(ReadOnlyFormat):
    """CGMES models: the profiles of one grid in a zip archive or a folder."""

    name = "cgmes"
    suffixes = (".zip", ".xml")
    injection_kinds = INJECTION_KINDS

    def recognises(self, path: Path) -> bool:
        """Return whether this is a zip archive, a folder with profiles or one of them."""
        if path.is_dir():
            return any(path.glob("*.xml")) or any(path.glob("*.zip"))
        start = first_bytes(path, 4096)
        return start.startswith(b"PK") or b"CIM-schema" in start or b"iec.ch/TC57" in start

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; a load is known as "load MRID"."""
        import_pypowsybl()
        texts = _read(path)
        cells: dict[str, list[Cell]] = {name: [] for name in texts}
        for name, _, cell in load_cells(texts):
            cells[name].append(cell)
        for name, found in cells.items():
            check_loads(path / name, texts[name], found)
        without_loads = {name: blanked(text, cells[name]) for name, text in texts.items()}
        try:
            source = load_archive(path, archive_of(texts), archive_of(without_loads))
        except CaseError:
            check_well_formed(path, texts)
            raise
        return network_of(source, path, load_buses, public_injections=self._public)

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write a zip archive with this network's loads; see `CaseFormat.write_back`.

        The profile of state variables is left out: it holds the flows of the raw loads.
        """
        texts = _read(source)
        kept = {
            name: text
            for name, text in texts.items()
            if not any(STATE in profile for profile in profiles_of(text))
        }
        called, paired = _boundary_injections(load_archive(source, archive_of(texts), b""))
        changed: dict[str, dict[Cell, str]] = {name: {} for name in kept}
        known = {one.key for one in (*network.load_identities, *network.idle_loads.identities)}
        cells = []
        for name, kind, cell in load_cells(kept):
            if cell.what in paired:
                changed[name][cell] = "0"
                continue
            own = f"{'injection' if kind == INJECTION else 'load'} {cell.what}"
            key = called.get(cell.what, own)
            if kind != INJECTION or key in known:  # others are public
                cells.append((name, cell, key))
        _refuse_unfound(source, network, {(key, cell.column) for _, cell, key in cells})
        values, lost = released_values(network, list(dict.fromkeys(key for *_, key in cells)))
        for name, cell, key in cells:
            changed[name][cell] = repr(values[key][cell.column == "q"])
        written = {name: with_cells(text, changed[name]) for name, text in kept.items()}
        write_atomically(path, archive_of(written))
        return [
            *lost,
            "the profile of state variables is left out; the powers that machines are set to "
            "(RotatingMachine.p) stand as in the source, and their sum tells about the total of "
            "the raw loads",
        ]


def _refuse_unfound(source: Path, network: Network, found: set[tuple[str, str]]) -> None:
    """Refuse a source in which the P or Q of a load was not found, since it would stay as it is."""
    unfound = [
        one.key
        for one in (*network.load_identities, *network.idle_loads.identities)
        if one.key.startswith("load ") and not {(one.key, "p"), (one.key, "q")} <= found
    ]
    if unfound:
        raise GridveilError(
            f"{source}: P and Q of {named(unfound)} were not found in its profiles, so that they "
            "cannot be replaced; nothing was written"
        )


def _read(path: Path) -> dict[str, str]:
    try:
        return read_profiles(path)
    except zlib.error:
        raise GridveilError(f"{path}: this archive is damaged") from None


def _boundary_injections(source: Any) -> tuple[dict[str, str], set[str]]:
    """Return the keys of boundary lines by what feeds them, and what feeds halves of tie lines."""
    frame = source.get_boundary_lines(all_attributes=True)
    name = "CGMES.EquivalentInjection"
    if name not in frame.columns:
        return {}, set()
    fed = dict(zip(frame[name].astype(str).str.lstrip("_"), frame.index, strict=True))
    paired = {injection for injection, line in fed.items() if frame.paired[line]}
    return {injection: f"boundary line {line}" for injection, line in fed.items()}, paired
