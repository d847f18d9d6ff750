"""A released series as its folder has it: the network, and its loads in every hour released."""

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import REQUIRED_COLUMNS
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_tables
from gridveil.network.network import Network
from gridveil.network.series.load_series import Times
from gridveil.network.source_loads import SourceLoad, bus_key
from gridveil.network.units import LOAD
from gridveil.publication.folder import CERTIFICATE, NETWORK
from gridveil.publication.verification.folder_reader import read_release_file

LOADS_TABLE = "loads.parquet"
_COLUMNS = ("time", "bus", "number", "p_mw", "q_mvar")
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
    case_text, table_bytes = _certified(folder, (NETWORK, LOADS_TABLE))
    table = _table(folder / LOADS_TABLE, table_bytes)
    seconds = np.asarray(table["time"].cast(pa.timestamp("s", "UTC")).cast(pa.int64()))
    times, hour = np.unique(seconds, return_inverse=True)
    places = np.stack([np.asarray(table["bus"]), np.asarray(table["number"])], axis=1)
    loads, load = np.unique(places, axis=0, return_inverse=True)
    if len(seconds) != len(times) * len(loads) or len(
        np.unique(hour * len(loads) + load.ravel())
    ) != len(seconds):
        raise GridveilError(f"{folder / LOADS_TABLE}: not one row for each load in every hour")
    values = np.zeros((2, len(times), len(loads)))
    for row, name in enumerate(("p_mw", "q_mvar")):
        values[row, hour, load.ravel()] = np.asarray(table[name])
    network, order = _network(folder / NETWORK, case_text, loads, values[:, 0])
    p_mw, q_mvar = values[:, :, order]
    return ReleasedSeries(network, case_text, times.astype("datetime64[s]"), p_mw, q_mvar)


def _certified(folder: Path, names: Iterable[str]) -> list[bytes]:
    """Return files of a release whose digests are those of its certificate."""
    try:
        certificate = json.loads(read_release_file(folder, CERTIFICATE))
        digests = {name: certificate["files"][name] for name in names}
    except (ValueError, KeyError, TypeError):
        raise GridveilError(
            f"{folder / CERTIFICATE}: no certificate of a series; 'gridveil verify {folder}' says "
            "more"
        ) from None
    contents = []
    for name, digest in digests.items():
        data = read_release_file(folder, name, _MOST_BYTES)
        if hashlib.sha256(data).hexdigest() != digest:
            raise GridveilError(
                f"{folder / name}: not as certified; 'gridveil verify {folder}' says more"
            )
        contents.append(data)
    return contents


def _table(path: Path, data: bytes) -> Any:
    try:
        table = parquet.read_table(io.BytesIO(data), columns=list(_COLUMNS))
    except (pa.ArrowException, OSError, ValueError):
        raise GridveilError(f"{path}: no table with columns {', '.join(_COLUMNS)}") from None
    if not len(table):
        raise GridveilError(f"{path}: no hour was released")
    return table


def _network(
    path: Path, text: bytes, loads: IntArray, first: FloatArray
) -> tuple[Network, IntArray]:
    """Return the network with loads at these places, and where each of its own is among them."""
    case = parse_matpower(text.decode("utf-8", "surrogateescape"), str(path), path.parent.name)
    tables = {name: case.tables[name].values.copy() for name in REQUIRED_COLUMNS}
    tables["bus"][:, 2:4] = 0.0
    sources = [
        SourceLoad(int(bus), bus_key(int(bus), int(number)), float(p), float(q))
        for (bus, number), p, q in zip(loads, *first, strict=True)
    ]
    network = network_from_tables(tables, case.base_mva, case.name, source_loads=sources)
    at = {bus_key(int(bus), int(number)): i for i, (bus, number) in enumerate(loads)}
    order = [at[load.key] for load in network.load_identities]
    if len(order) != len(sources):
        raise GridveilError(f"{path}: a bus with a load is out of service")
    return network, np.array(order, dtype=np.int64)
