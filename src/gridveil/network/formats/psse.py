"""PSS/E raw files (.raw), versions 33 to 35, through PowSyBl.

PowSyBl leaves out records that it cannot use without a word, so that buses and counts are compared
with the file's own records.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from gridveil.network.formats.psse_records import (
    RawFile,
    check_buses,
    numbers_that_are_text,
    parse_raw,
    transformers,
    voltage_limits,
)
from gridveil.network.formats.psse_writer import with_loads
from gridveil.network.formats.text_cells import blanked, check_loads
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind

_FIRST_LINE = re.compile(rb"\s*\d\s*,\s*[0-9.]+\s*,\s*\d{1,2}\s*[,/\s]")
_LOAD_ID = re.compile(r"B(\d+)-L(.*)")
_COMPARED = {
    "bus": ("bus_breaker_view_buses",),
    "load": ("loads",),
    "generator": ("generators",),
    "shunt": ("shunt_compensators",),
    "branch or transformer": (
        "lines", "2_windings_transformers", "3_windings_transformers", "switches",
    ),
    "DC line": ("hvdc_lines",),
    "FACTS device": ("static_var_compensators",),
}  # fmt: skip
"""Kinds of records, and the data frames in which PowSyBl has them."""
_NOT_READ = ("multi-terminal DC line", "GNE device", "induction machine")
_DGENM = 16
"""Field of a load with whether its distributed generation is in service."""


class PsseFormat(ReadOnlyFormat):
    """PSS/E raw files."""

    name = "psse"
    suffixes = (".raw",)
    injection_kinds = INJECTION_KINDS

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins with `IC, SBASE, REV`."""
        return _FIRST_LINE.match(first_bytes(path, 200)) is not None

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; a load is known as "bus 101 load 1", buses keep their numbers."""
        import_pypowsybl()
        text = text_of(path)
        raw = parse_raw(path, text)
        cells = list(raw.load_cells())
        check_loads(path, text, cells)
        check_buses(path, raw)
        _refuse(path, raw)
        try:
            source = load_text(path, "raw", text, blanked(text, cells))
        except CaseError:
            numbers_that_are_text(path, raw)
            raise
        _check_complete(path, raw, source)
        keys = {key: _key(key) for key in map(str, source.get_loads().index)}
        return network_of(
            source,
            path,
            load_buses,
            raw.base_mva,
            keys,
            self._public,
            notes=_notes(raw),
            voltage_limits=voltage_limits(raw),
        )

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write a copy of a raw file with this network's loads; see `CaseFormat.write_back`."""
        text = text_of(source)
        written, lost = with_loads(network, parse_raw(source, text), text)
        write_atomically(path, written.encode(encoding_of(read_file(source))))
        return lost


def _refuse(path: Path, raw: RawFile) -> None:
    """Refuse what PowSyBl does not read."""
    problems = [
        Problem(
            ProblemKind.UNSUPPORTED,
            f"{name} {record[0]!r} is not supported; remove it or replace it by loads",
            line=record.line,
        )
        for name in _NOT_READ
        for record in raw.sections[name][:1]
    ]
    problems += [
        Problem(
            ProblemKind.UNSUPPORTED,
            f"{raw.load_key(record)} has distributed generation (DGENM 1), which is not read; make "
            "it a generator",
            line=record.line,
        )
        for record in raw.sections["load"]
        if record[_DGENM] == "1"
    ]
    if problems:
        raise CaseError(path, problems)


def _check_complete(path: Path, raw: RawFile, source: Any) -> None:
    """Refuse a file of which PowSyBl read fewer elements than it has."""
    sections = {name: len(records) for name, records in raw.sections.items()}
    wanted = {
        "bus": sections["bus"],
        "load": sections["load"],
        "generator": sections["generator"],
        "shunt": sections["fixed shunt"] + sections["switched shunt"],
        "branch or transformer": sections["branch"]
        + len(list(transformers(raw)))
        + sections.get("switching device", 0),
        "DC line": sections["two-terminal DC line"] // 3 + sections["VSC DC line"] // 3,
        "FACTS device": sections["FACTS device"],
    }
    if raw.sections.get("substation"):  # a node-breaker model has switches and nodes of its own
        del wanted["bus"], wanted["branch or transformer"]
    for name, count in wanted.items():
        found = sum(len(getattr(source, f"get_{frame}")()) for frame in _COMPARED[name])
        if found < count:
            reason = (
                f"PowSyBl reads {found} of {count} records of kind {name}; remove those that it "
                "does not know"
            )
            raise CaseError(path, [Problem(ProblemKind.UNSUPPORTED, reason)])


def _notes(raw: RawFile) -> list[str]:
    """Say what holds for all loads, since which of them have such parts depends on their values."""
    if not raw.sections["load"]:
        return []
    return ["parts of loads that depend on the voltage count as they are at nominal voltage"]


def _key(identifier: str) -> str:
    match = _LOAD_ID.fullmatch(identifier)
    return f"bus {match[1]} load {match[2].strip()}" if match else f"load {identifier}"
