"""Load series as tables: long, with a row for each load and hour."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.files import csv_bytes, write_atomically
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries, Times
from gridveil.network.series.shapes import example_series
from gridveil.network.series.table import CSV, PARQUET
from gridveil.network.units import LOAD


def long_table(network: Network, times: Times, p_mw: FloatArray, q_mvar: FloatArray) -> pa.Table:
    """Return loads hour by hour as a table: time (UTC), load, bus, number, p_mw and q_mvar.

    A row's `load` is its place in `network.loads`, from 1; `number` tells loads at a bus apart.

    Args:
        network: The network.
        times: When each hour begins, in UTC.
        p_mw: Active power, of shape (hours, loads).
        q_mvar: Reactive power.

    Example:
        >>> from gridveil import load_case
        >>> from gridveil.network.series.shapes import example_series
        >>> network = load_case("case5_pjm")
        >>> series, _ = example_series(network, hours=2, seed=1)
        >>> table = long_table(network, series.times, 100 * series.p, 100 * series.q)
        >>> table.num_rows, table.column_names
        (6, ['time', 'load', 'bus', 'number', 'p_mw', 'q_mvar'])
    """
    hours, loads = p_mw.shape
    repeated = pa.array(np.repeat(times.astype("datetime64[s]"), loads))
    return pa.table(
        {
            "time": repeated.cast(pa.timestamp("s", "UTC")),
            "load": np.tile(np.arange(1, loads + 1), hours),
            "bus": np.tile(network.buses.number[network.loads.bus], hours),
            "number": np.tile(network.loads.number, hours),
            "p_mw": p_mw.ravel(),
            "q_mvar": q_mvar.ravel(),
        }
    )


def table_bytes(table: pa.Table, suffix: str) -> bytes:
    """Return a table as the contents of a Parquet or CSV file.

    Args:
        table: The table.
        suffix: ".parquet" or ".csv".

    Raises:
        GridveilError: It is another one.
    """
    buffer = io.BytesIO()
    if suffix in PARQUET:
        parquet.write_table(table, buffer, compression="zstd")
    elif suffix in CSV:
        arrow_csv.write_csv(_with_iso_times(table), buffer)
    else:
        raise GridveilError(f"{suffix or 'no suffix'}: tables are written as .parquet or .csv")
    return buffer.getvalue()


def save_series(series: LoadSeries, network: Network, path: Path) -> None:
    """Write a series with the keys of its loads into a file that only its owner may read.

    Args:
        series: The series, as `load_series` reads it from the file again.
        network: The network of its loads.
        path: .parquet or .csv.

    Raises:
        GridveilError: The file cannot be written.
    """
    p_mw, q_mvar = (exact_mw(values, network.base_mva) for values in (series.p, series.q))
    table = long_table(network, series.times, p_mw, q_mvar)
    keys = pa.DictionaryArray.from_arrays(
        np.tile(np.arange(len(series.keys), dtype=np.int32), series.hours), list(series.keys)
    )
    keyed = table.set_column(table.column_names.index("load"), "load", keys)
    write_atomically(path, table_bytes(keyed, path.suffix.lower()), private=True)


def exact_mw(pu: FloatArray, base_mva: float) -> FloatArray:
    """Return loads in MW that are the same p.u. when they are read, or the nearest there are."""
    guess = pu * base_mva
    for direction in (np.inf, -np.inf):
        near = np.nextafter(guess, direction)
        is_better = (LOAD.decode(guess, base_mva) != pu) & (LOAD.decode(near, base_mva) == pu)
        guess = np.where(is_better, near, guess)
    return guess + 0.0


def _with_iso_times(table: pa.Table) -> pa.Table:
    """Return a table whose times are texts as 2025-01-31T13:00Z."""
    texts = [f"{time}Z" for time in np.datetime_as_string(table["time"].unique(), unit="m")]
    times = table["time"].dictionary_encode().combine_chunks()
    columns = {name: table[name] for name in table.column_names}
    columns["time"] = pa.array(texts).take(times.indices)
    return pa.table(columns)


def profiles(
    network: Network | str | Path, output: Path | str, hours: int = 168, seed: int = 1
) -> Path:
    """Write made-up profiles of a network's loads, and ratings for them, to try things with.

    Args:
        network: A network, a case name or the path of a case file.
        output: The profiles, .parquet or .csv, as `load_series` reads them.
        hours: How many, from Monday, 2025-01-06 00:00 UTC.
        seed: What the random numbers come from.

    Returns:
        The file of ratings beside it: loads.parquet has loads-ratings.csv.

    Raises:
        GridveilError: The network cannot be opened, or a file not be written.

    Example:
        >>> from tempfile import mkdtemp
        >>> ratings = profiles("case5_pjm", mkdtemp() + "/loads.parquet")
        >>> ratings.name, ratings.read_text().splitlines()[:2]
        ('loads-ratings.csv', ['bus,number,rating_mva', '2,1,400'])
    """
    chosen, target = as_network(network), Path(output)
    series, ratings = example_series(chosen, hours, seed)
    save_series(series, chosen, target)
    beside = target.with_name(f"{target.name.removesuffix(target.suffix)}-ratings.csv")
    places = zip(chosen.load_buses, chosen.loads.number.tolist(), strict=True)
    rows = [
        (bus, number, f"{float(rating):g}")
        for (bus, number), rating in zip(places, ratings, strict=True)
    ]
    write_atomically(beside, csv_bytes(("bus", "number", "rating_mva"), rows), private=True)
    return beside
