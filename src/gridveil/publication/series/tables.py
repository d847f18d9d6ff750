"""The tables of a released series, as Parquet with the same bytes for the same numbers.

| file | a row for each | columns |
| --- | --- | --- |
| loads.parquet | hour and load | time, load, bus, number, p_mw, q_mvar |
| dispatch.parquet | hour and generator | time, generator, p_mw, q_mvar, target |
| voltages.parquet | hour and bus | time, bus, v, angle_degrees |
| hours.parquet | hour | time, ending, violation, displacement_mva, costs |

Times are the beginnings of hours, UTC. Loads are numbered from 1 in the order of the network,
`number` from 1 among those of a bus; generators are named by their row in the case file, from 1.
An hour that was left out has a row in hours.parquet alone.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.series.load_series import hour_times
from gridveil.network.source_loads import numbers_at_buses

LOADS, DISPATCH = "loads.parquet", "dispatch.parquet"
VOLTAGES, HOURS = "voltages.parquet", "hours.parquet"
LOADS_CSV, RAMPS = "loads.csv", "ramps.csv"
_TIME = pa.timestamp("ms", tz="UTC")
SCHEMAS: Mapping[str, Any] = {
    LOADS: pa.schema(
        [
            ("time", _TIME),
            ("load", pa.int32()),
            ("bus", pa.int64()),
            ("number", pa.int32()),
            ("p_mw", pa.float64()),
            ("q_mvar", pa.float64()),
        ]
    ),
    DISPATCH: pa.schema(
        [
            ("time", _TIME),
            ("generator", pa.int32()),
            ("p_mw", pa.float64()),
            ("q_mvar", pa.float64()),
            ("target", pa.float64()),
        ]
    ),
    VOLTAGES: pa.schema(
        [
            ("time", _TIME),
            ("bus", pa.int64()),
            ("v", pa.float64()),
            ("angle_degrees", pa.float64()),
        ]
    ),
    HOURS: pa.schema(
        [
            ("time", _TIME),
            ("ending", pa.string()),
            ("violation", pa.float64()),
            ("displacement_mva", pa.float64()),
            ("cost_target", pa.float64()),
            ("cost_dispatch", pa.float64()),
            ("cost_optimal", pa.float64()),
        ]
    ),
}
"""The columns of each table. `target` is in $/h for bands on costs, in MW for one on the dispatch,
and null without a band; costs are in $/h, and null where the band is not on costs."""
_BYTES_A_ROW, _BYTES_BESIDE = 128, 2**20
"""The most that a table takes when it is decompressed: seven columns of 8 bytes take half of it."""


@dataclass(frozen=True, eq=False)
class SeriesTables:
    """The numbers of a released series, in the units of its files; no row for hours left out."""

    first_hour: int
    hours: int
    released: IntArray
    """The hours, from 0, that have loads."""
    load_buses: IntArray
    loads: FloatArray
    """(released, loads, 2): MW and MVAr."""
    generators: IntArray
    dispatch: FloatArray
    """(released, generators, 3): MW, MVAr and the target; NaN without one."""
    buses: IntArray
    voltages: FloatArray
    """(released, buses, 2): p.u. and degrees."""
    endings: tuple[str, ...]
    figures: FloatArray
    """(hours, 5): the figures of hours.parquet from `violation` on; NaN where there are none."""

    def files(self, with_csv: bool = False) -> dict[str, bytes]:
        """Return the files of the tables, loads as CSV too if asked for."""
        made = {name: _bytes(name, self._columns(name)) for name in SCHEMAS}
        if with_csv:
            made[LOADS_CSV] = self._csv()
        return made

    def _columns(self, name: str) -> dict[str, Any]:
        times = hour_times(self.first_hour, self.hours).astype("datetime64[ms]")
        if name == HOURS:
            figures = enumerate(SCHEMAS[name].names[2:])
            numbers = {c: _or_null(self.figures[:, i]) for i, c in figures}
            return {"time": times, "ending": list(self.endings), **numbers}
        values = {LOADS: self.loads, DISPATCH: self.dispatch, VOLTAGES: self.voltages}[name]
        each, names = values.shape[1], SCHEMAS[name].names
        columns: dict[str, Any] = {"time": np.repeat(times[self.released], each)}
        columns |= {k: np.tile(v, len(self.released)) for k, v in self.keys(name).items()}
        numbers = names[len(columns) :]
        return columns | {c: _or_null(values[:, :, i].ravel()) for i, c in enumerate(numbers)}

    def keys(self, name: str) -> dict[str, IntArray]:
        """Return what the rows of an hour are about, by the names of the columns."""
        if name == HOURS:
            return {}
        if name != LOADS:
            return {"bus": self.buses} if name == VOLTAGES else {"generator": self.generators}
        buses = self.load_buses
        return {
            "load": np.arange(1, len(buses) + 1),
            "bus": buses,
            "number": np.array(numbers_at_buses(buses.tolist()), dtype=np.int64),
        }

    def _csv(self) -> bytes:
        """Return the loads as CSV, a number as short as it reads back the same."""
        times = hour_times(self.first_hour, self.hours).astype("datetime64[m]").astype(str)
        keys = [f"{a},{b},{c}" for a, b, c in zip(*self.keys(LOADS).values(), strict=True)]
        text = io.StringIO()
        text.write(",".join(SCHEMAS[LOADS].names) + "\n")
        for hour, values in zip(self.released.tolist(), self.loads, strict=True):
            for key, (p, q) in zip(keys, values.tolist(), strict=True):
                text.write(f"{times[hour]}Z,{key},{p!r},{q!r}\n")
        return text.getvalue().encode()


def _or_null(values: FloatArray) -> Any:
    """Return numbers with nulls for what is not a number."""
    return pa.array(values, mask=np.isnan(values))


def _bytes(name: str, columns: Mapping[str, Any]) -> bytes:
    schema = SCHEMAS[name]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, type=schema.field(key).type)
        for key, column in columns.items()
    ]
    return table_bytes(pa.Table.from_arrays(arrays, schema=schema))


def table_bytes(table: Any) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", version="2.6", store_schema=False)
    return sink.getvalue()


def read_table(name: str, data: bytes) -> dict[str, Any]:
    """Return the columns of one of the tables as arrays; missing numbers are NaN.

    Raises:
        GridveilError: It is not as `SeriesTables` writes it: other columns, or too large.
    """
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        refuse_inflated(name, file.metadata, len(data))
        if not file.schema_arrow.equals(SCHEMAS[name], check_metadata=False):
            raise GridveilError(f"{name}: has other columns than a released series")
        # a text stands once, however often it is used; what metadata says of sizes may be a lie
        texts = [field.name for field in SCHEMAS[name] if pa.types.is_string(field.type)]
        table = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts).read(use_threads=False)
        if table.nbytes > _BYTES_A_ROW * table.num_rows + _BYTES_BESIDE:
            raise GridveilError(f"{name}: is too large for a table of a release")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise GridveilError(f"{name}: is not a Parquet file: {type(error).__name__}") from None
    return {key: _column(table.column(key)) for key in SCHEMAS[name].names}


def refuse_inflated(name: str, metadata: Any, size: int) -> None:
    """Refuse a table that is far larger in memory than its file, before it is read.

    Digits of loads, outputs and voltages hardly compress: a table of a release has at least a byte
    for each row.

    Args:
        name: How to call it.
        metadata: What Parquet says of it.
        size: The bytes of its file.

    Raises:
        GridveilError: It is.
    """
    rows, groups = metadata.num_rows, range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(i).total_byte_size for i in groups)
    if rows > size or unpacked > _BYTES_A_ROW * rows + _BYTES_BESIDE:
        raise GridveilError(f"{name}: is too large for a table of a release")


def _column(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return tuple(column.cast(pa.string()).to_pylist())
    if pa.types.is_timestamp(column.type):
        return column.to_numpy().astype("datetime64[ms]")
    return column.to_numpy().copy()
