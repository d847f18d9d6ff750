"""A released series as its folder has it: the network, and every hour that was released."""

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import REQUIRED_COLUMNS, CaseFile
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_tables
from gridveil.network.network import Network
from gridveil.network.series.load_series import Times
from gridveil.network.source_loads import SourceLoad, bus_key
from gridveil.network.units import LOAD
from gridveil.publication.folder import CERTIFICATE, NETWORK
from gridveil.publication.series.tables import refuse_inflated
from gridveil.publication.verification.folder_reader import read_release_file

LOADS_TABLE, DISPATCH_TABLE = "loads.parquet", "dispatch.parquet"
VOLTAGES_TABLE = "voltages.parquet"
_MOST_BYTES = 8 * 2**30


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedSeries(ArrayRecord):
    """A released series. Its loads are the released ones: nothing here is secret."""

    network: Network
    """Its loads are those of the first hour."""
    case_text: bytes
    """The case file as it was released."""
    times: Times
    """When each released hour begins, in UTC; hours that were left out are not among them."""
    p_mw: FloatArray
    """Of shape (hours, loads), in the order of `network.loads`."""
    q_mvar: FloatArray
    output_mw: FloatArray
    """Of shape (hours, generators)."""
    output_mvar: FloatArray
    v: FloatArray
    """Voltages in p.u., of shape (hours, buses)."""

    def at(self, hour: int) -> tuple[FloatArray, FloatArray]:
        """Return P and Q of all loads in p.u. in one of the hours, of which 0 is the first."""
        p, q = (
            LOAD.decode(values[hour], self.network.base_mva) for values in (self.p_mw, self.q_mvar)
        )
        return p, q

    @property
    def load_names(self) -> list[str]:
        """How each load is called: by its bus, and by its number among several."""
        return self.network.listed_loads.labels


@dataclass(frozen=True, eq=False)
class _Values:
    """What a table has of each of its elements in every hour."""

    times: IntArray
    """In seconds."""
    elements: list[tuple[int, ...]]
    columns: FloatArray
    """Of shape (columns, hours, elements)."""

    def of(self, elements: Sequence[tuple[int, ...]], like: "_Values | None" = None) -> FloatArray:
        """Return the columns of elements in this order, in the hours of another table."""
        same = like is None or np.array_equal(like.times, self.times)
        at = {element: i for i, element in enumerate(self.elements)}
        if not same or set(at) != set(elements):
            raise GridveilError("the tables are not of the same hours and network")
        return self.columns[:, :, [at[element] for element in elements]]


def is_series_folder(folder: Path) -> bool:
    """Whether a folder has the loads of a released series."""
    return (folder / LOADS_TABLE).is_file()


def read_released_series(folder: Path) -> ReleasedSeries:
    """Read a released series.

    Args:
        folder: Its folder, as it was released.

    Raises:
        GridveilError: It is no such folder, or not as its certificate says.
    """
    files = (NETWORK, LOADS_TABLE, DISPATCH_TABLE, VOLTAGES_TABLE)
    name, contents = _certified(folder, files)
    loads, dispatch, voltages = (
        _values(folder / file, contents[file], keys, columns)
        for file, keys, columns in (
            (LOADS_TABLE, ("bus", "number"), ("p_mw", "q_mvar")),
            (DISPATCH_TABLE, ("generator",), ("p_mw", "q_mvar")),
            (VOLTAGES_TABLE, ("bus",), ("v",)),
        )
    )
    text = contents[NETWORK]
    case = parse_matpower(text.decode("utf-8", "surrogateescape"), NETWORK, name)
    network = _network(case, loads)
    try:
        places = list(zip(network.load_buses, network.loads.number.tolist(), strict=True))
        p_mw, q_mvar = loads.of(places)
        generators = [(row,) for row in (network.generators.row + 1).tolist()]
        output_mw, output_mvar = dispatch.of(generators, loads)
        (v,) = voltages.of([(number,) for number in network.buses.number.tolist()], loads)
    except GridveilError as error:
        raise GridveilError(f"{folder}: {error}; 'gridveil verify {folder}' says more") from None
    times = loads.times.astype("datetime64[s]")
    return ReleasedSeries(network, text, times, p_mw, q_mvar, output_mw, output_mvar, v)


def _certified(folder: Path, names: Sequence[str]) -> tuple[str, dict[str, bytes]]:
    """Return the network's name and files of a release, as its certificate has them."""
    try:
        certificate = json.loads(read_release_file(folder, CERTIFICATE))
        network = str(certificate["network"])
        digests = {name: certificate["files"][name] for name in names}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise GridveilError(
            f"{folder / CERTIFICATE}: no certificate of a series; 'gridveil verify {folder}' says "
            "more"
        ) from None
    contents = {name: read_release_file(folder, name, _MOST_BYTES) for name in names}
    for name, data in contents.items():
        if hashlib.sha256(data).hexdigest() != digests[name]:
            raise GridveilError(
                f"{folder / name}: not as certified; 'gridveil verify {folder}' says more"
            )
    return network, contents


def _values(path: Path, data: bytes, keys: Sequence[str], columns: Sequence[str]) -> _Values:
    """Return the values of a table with a row for each element in every hour."""
    try:
        file: Any = parquet.ParquetFile(io.BytesIO(data))
        refuse_inflated(str(path), file.metadata, len(data))
        table = file.read(columns=["time", *keys, *columns])
        time = np.asarray(table["time"].cast(pa.timestamp("s", "UTC")).cast(pa.int64()))
        named = np.stack([np.asarray(table[key]).astype(np.int64) for key in keys], axis=1)
        numbers = np.stack([np.asarray(table[column]).astype(float) for column in columns])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise GridveilError(f"{path}: no table with time, {', '.join((*keys, *columns))}") from None
    times, hour = np.unique(time, return_inverse=True)
    elements, element = np.unique(named, axis=0, return_inverse=True)
    cell = hour * len(elements) + element.ravel()
    if not len(time) or not np.array_equal(np.sort(cell), np.arange(len(times) * len(elements))):
        raise GridveilError(f"{path}: not one row for each {keys[-1]} in every hour")
    values = np.zeros((len(columns), len(cell)))
    values[:, cell] = numbers
    shape = (len(columns), len(times), len(elements))
    return _Values(times, [tuple(row) for row in elements.tolist()], values.reshape(shape))


def _network(case: CaseFile, loads: _Values) -> Network:
    """Return the network with the loads of the first hour, one by one."""
    tables = {name: case.tables[name].values.copy() for name in REQUIRED_COLUMNS}
    tables["bus"][:, 2:4] = 0.0
    sources = [
        SourceLoad(bus, bus_key(bus, number), p, q)
        for (bus, number), p, q in zip(loads.elements, *loads.columns[:, 0].tolist(), strict=True)
    ]
    return network_from_tables(tables, case.base_mva, case.name, source_loads=sources)
