"""PowSyBl's own files (.xiidm)."""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gridveil.files import read_file, write_atomically
from gridveil.network.formats.base import ReadOnlyFormat, first_bytes
from gridveil.network.formats.powsybl.injections import INJECTION_KINDS
from gridveil.network.formats.powsybl.reader import (
    encoding_of,
    import_pypowsybl,
    load_text,
    network_of,
    text_of,
)
from gridveil.network.formats.text_cells import Cell, blanked, check_loads, with_cells
from gridveil.network.formats.write_back import released_values
from gridveil.network.network import Network

_TAG = re.compile(
    r"<(?:[\w.-]+:)?(?P<name>[A-Za-z]\w*)"
    r"(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))+)\s*/?>"
)
_ATTRIBUTE = re.compile(
    r"\s+(?P<name>[\w:.-]+)\s*=\s*(?P<quote>[\"'])(?P<value>.*?)(?P=quote)", re.S
)
_INJECTIONS = {
    "load": ("load", "p0", "q0"),
    "battery": ("battery", "targetP", "targetQ"),
    "danglingLine": ("boundary line", "p0", "q0"),
    "boundaryLine": ("boundary line", "p0", "q0"),
}
"""Elements with a power that is a load here: what keys call them, attributes of P and Q."""
_GENERATING = "battery"
"""Its power counts as generated."""
_RESULTS = {"p", "q", "p1", "q1", "p2", "q2", "p3", "q3", "v", "angle"}
_STATE_OF = {
    "load", "generator", "battery", "shunt", "staticVarCompensator", "vscConverterStation",
    "lccConverterStation", "line", "twoWindingsTransformer", "threeWindingsTransformer",
    "danglingLine", "boundaryLine", "bus", "busbarSection",
}  # fmt: skip
"""Elements with attributes that a power flow fills in."""


class XiidmFormat(ReadOnlyFormat):
    """PowSyBl's XML files."""

    name = "xiidm"
    suffixes = (".xiidm", ".iidm")
    injection_kinds = INJECTION_KINDS

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins as PowSyBl writes it."""
        return b"/schema/iidm/" in first_bytes(path, 4096)

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; a load is known as "load ID"."""
        import_pypowsybl()
        text = text_of(path)
        cells = list(_load_cells(text))
        check_loads(path, text, cells)
        source = load_text(path, "xiidm", text, blanked(text, cells))
        return network_of(source, path, load_buses, public_injections=self._public)

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write a copy of a file with this network's loads; see `CaseFormat.write_back`."""
        text = text_of(source)
        paired = _paired_lines(text)
        cells = [cell for cell in _load_cells(text) if cell.what not in paired]
        values, lost = released_values(network, list(dict.fromkeys(cell.what for cell in cells)))
        changed = dict.fromkeys(_result_cells(text), "")
        changed |= dict.fromkeys(_detail_cells(text), "0.0")
        changed |= {cell: "0.0" for cell in _load_cells(text) if cell.what in paired}
        for cell in cells:
            value = values[cell.what][cell.column == "q"]
            changed[cell] = repr(-value if cell.what.startswith(_GENERATING) else value)
        encoding = encoding_of(read_file(source))
        write_atomically(path, with_cells(text, changed).encode(encoding))
        return [
            *lost,
            "voltages and flows are cleared; the powers that generators are set to (targetP) stand "
            "as in the source, and their sum tells about the total of the raw loads",
            "the fixed and variable parts of loads are set to 0; comments, properties and "
            "extensions stand as in the source",
        ]


def _load_cells(text: str) -> Iterator[Cell]:
    """Yield the places of P and Q of everything that is a load here."""
    for tag in _TAG.finditer(text):
        if tag["name"] not in _INJECTIONS:
            continue
        kind, p, q = _INJECTIONS[tag["name"]]
        found = {m["name"]: m for m in _attributes(tag)}
        identifier = html.unescape(found["id"]["value"]) if "id" in found else "?"
        for column, name in (("p", p), ("q", q)):
            if name in found:
                start, end = found[name].span("value")
                at = tag.start("attributes")
                yield Cell(
                    at + start, at + end, f"{kind} {identifier}", column, found[name]["value"]
                )


def _paired_lines(text: str) -> set[str]:
    """Return the keys of boundary lines that form tie lines; what they inject plays no part."""
    return {
        f"boundary line {html.unescape(match['value'])}"
        for tag in _TAG.finditer(text)
        if tag["name"] == "tieLine"
        for match in _attributes(tag)
        if match["name"].endswith(("LineId1", "LineId2"))
    }


def _result_cells(text: str) -> Iterator[Cell]:
    """Yield the places of attributes that a power flow fills in, each with its name."""
    for tag in _TAG.finditer(text):
        if tag["name"] in _STATE_OF:
            at = tag.start("attributes")
            for match in _attributes(tag):
                if match["name"] in _RESULTS:
                    yield Cell(at + match.start(), at + match.end(), tag["name"], match["name"], "")


def _detail_cells(text: str) -> Iterator[Cell]:
    """Yield the places of the parts that an extension says a load has."""
    for tag in _TAG.finditer(text):
        if tag["name"] == "detail":
            at = tag.start("attributes")
            for match in _attributes(tag):
                if match["name"].endswith("Power"):
                    start, end = match.span("value")
                    yield Cell(at + start, at + end, "detail", match["name"], match["value"])


def _attributes(tag: re.Match[str]) -> Iterator[re.Match[str]]:
    return _ATTRIBUTE.finditer(tag["attributes"])
