"""MATPOWER cases as MATLAB data files (.mat): the struct `mpc`, or its fields one by one."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.files import read_file, write_atomically
from gridveil.network.case_file import COLUMNS, REQUIRED_COLUMNS
from gridveil.network.checks import UNSUPPORTED_SECTIONS
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.formats.matpower import saved_text
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.write_back import released_values
from gridveil.network.from_case import network_from_tables
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind
from gridveil.network.source_loads import bus_key

_STRUCT = "mpc"
_PD, _QD, _VM, _VA = (COLUMNS["bus"].index(name) for name in ("Pd", "Qd", "Vm", "Va"))
_PG, _QG = (COLUMNS["gen"].index(name) for name in ("Pg", "Qg"))
_FLOWS = 13
_RESULTS = {
    "order", "raw", "var", "mu", "lin", "nle", "nli", "qdc", "om", "f", "x", "success", "et",
    "iterations",
}  # fmt: skip
"""What MATPOWER adds to a case it has solved, true loads among it."""
"""Columns of the branch table from which a power flow writes its results."""


class MatlabFormat(CaseFormat):
    """MATPOWER cases as MATLAB data files."""

    name = "matlab"
    suffixes = (".mat",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins as MATLAB's data files do."""
        return first_bytes(path, 19).startswith((b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file"))

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; a load is known by its bus, as in a MATPOWER file."""
        fields = _fields(path, _loaded(path))
        tables = {name: _table(path, name, fields) for name in REQUIRED_COLUMNS}
        if "dcline" in fields:
            tables["dcline"] = _table(path, "dcline", fields)
        for name in sorted(set(fields) & set(UNSUPPORTED_SECTIONS)):
            if np.size(fields[name]):
                reason = f"mpc.{name} ({UNSUPPORTED_SECTIONS[name]}) is not supported"
                raise CaseError(path, [Problem(ProblemKind.UNSUPPORTED, reason)])
        try:
            return network_from_tables(tables, _base_mva(path, fields), path.stem, load_buses)
        except CaseError as error:
            problems = [replace(problem, line=None) for problem in error.problems]
        raise CaseError(path, problems)  # its lines are none of the file's

    def write(self, network: Network, path: Path) -> None:
        """Write the tables of the network's source with its present values."""
        case = parse_matpower(saved_text(network), network.case.source, network.case.name)
        tables = {name: table.values for name, table in case.tables.items()}
        struct = {"version": "2", "baseMVA": case.base_mva, **tables}
        write_atomically(path, _saved({_STRUCT: struct}))

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write a copy of a file with this network's loads; see `CaseFormat.write_back`."""
        data = _loaded(source)
        fields = _fields(source, data)
        bus, gen, branch = (_table(source, name, fields) for name in ("bus", "gen", "branch"))
        keys = {bus_key(int(row[0])): row for row in bus if row[_PD] or row[_QD]}
        values, lost = released_values(network, list(keys))
        for key, row in keys.items():
            row[[_PD, _QD]] = values[key]
        bus[:, [_VM, _VA]] = 1.0, 0.0
        bus[:, len(COLUMNS["bus"]) :] = 0.0
        gen[:, [_PG, _QG]] = 0.0
        gen[:, len(COLUMNS["gen"]) :] = 0.0
        branch[:, _FLOWS:] = 0.0
        kept = {name: value for name, value in fields.items() if name not in _RESULTS}
        kept |= {"bus": bus, "gen": gen, "branch": branch}
        written = {**data, _STRUCT: kept} if _STRUCT in data else kept
        others = sorted({*kept, *written} - {*REQUIRED_COLUMNS, "version", "baseMVA", _STRUCT})
        if others:
            lost.append(f"what stands as in the source: {', '.join(others)}")
        write_atomically(path, _saved(written))
        return [*lost, "voltages, flows and outputs of generators are cleared"]


def _loaded(path: Path) -> dict[str, Any]:
    """Return the variables of a file; what scipy says of a broken one may show loads."""
    from scipy.io import loadmat

    data = read_file(path)
    if data.startswith(b"MATLAB 7.3") or data[:8] == b"\x89HDF\r\n\x1a\n":
        reason = "a file of version 7.3 is not read; save it in MATLAB with the option -v7"
        raise CaseError(path, [Problem(ProblemKind.UNSUPPORTED, reason)])
    try:
        found = loadmat(io.BytesIO(data))  # type: ignore[arg-type]  # its stubs know paths alone
    except Exception:
        found = None
    if found is None:
        reason = "this is not a MATLAB data file, or one that is cut off"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])
    return {name: value for name, value in found.items() if not name.startswith("__")}


def _fields(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the struct `mpc`, or of the only struct, or the variables."""
    structs = [name for name, value in data.items() if value.dtype.names and value.size == 1]
    chosen = _STRUCT if _STRUCT in structs else structs[0] if len(structs) == 1 else None
    if chosen is not None:
        struct = data[chosen]
        return {name: struct[name].flat[0] for name in struct.dtype.names}
    if "bus" in data:
        return dict(data)
    reason = "no struct 'mpc' with a MATPOWER case is in it"
    raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])


def _table(path: Path, name: str, fields: Mapping[str, Any]) -> FloatArray:
    if name not in fields:
        raise CaseError(path, [Problem(ProblemKind.MISSING, f"it has no mpc.{name}", name)])
    found = np.asarray(fields[name])
    if found.ndim != 2 or found.dtype.kind not in "fiu" or not len(found):
        reason = f"mpc.{name} is not a table of numbers"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_NUMBER, reason, name)])
    if found.shape[1] < REQUIRED_COLUMNS.get(name, 1):
        reason = f"mpc.{name} has {found.shape[1]} columns: {REQUIRED_COLUMNS[name]} at least"
        raise CaseError(path, [Problem(ProblemKind.SHAPE, reason, name)])
    return found.astype(float)


def _base_mva(path: Path, fields: Mapping[str, Any]) -> float:
    version = str(np.asarray(fields.get("version", "2")).reshape(-1)[0])
    if version.strip() != "2":
        reason = f"version {version[:10]!r} of MATPOWER's case format: only 2 is read"
        raise CaseError(path, [Problem(ProblemKind.UNSUPPORTED, reason)])
    base = np.asarray(fields.get("baseMVA", 0.0))
    if base.dtype.kind not in "fiu" or base.size != 1 or not 0 < float(base.flat[0]) < np.inf:
        reason = "mpc.baseMVA must be a number above 0"
        raise CaseError(path, [Problem(ProblemKind.OUT_OF_RANGE, reason)])
    return float(base.flat[0])


def _saved(variables: Mapping[str, Any]) -> bytes:
    from scipy.io import savemat

    data = io.BytesIO()
    savemat(data, dict(variables), do_compression=True)  # type: ignore[arg-type]  # as above
    return data.getvalue()
