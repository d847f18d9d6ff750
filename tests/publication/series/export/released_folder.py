"""The folder of a released series, written for the tests without a draw."""

import hashlib
import json
from pathlib import Path

from pyarrow import parquet

from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries
from gridveil.network.series.shapes import example_series
from gridveil.network.series.writing import long_table
from gridveil.opf.acopf import solve_acopf
from gridveil.publication.case_file import blank, publish


def write_released(folder: Path, network: Network, hours: int = 6) -> LoadSeries:
    """Write the files that exports read, with made-up loads instead of private ones."""
    series, _ = example_series(network, hours, 1)
    folder.mkdir()
    p, q = series.at(0)
    point = solve_acopf(network.with_loads(p, q)).point
    text = publish(blank(network), p, q, point, network.idle_loads).text
    (folder / "network.m").write_text(text)
    base = network.base_mva
    table = long_table(network, series.times, series.p * base, series.q * base)
    parquet.write_table(table, folder / "loads.parquet")
    digests = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("network.m", "loads.parquet")
    }
    (folder / "certificate.json").write_text(json.dumps({"files": digests}))
    return series
