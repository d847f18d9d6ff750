"""The folder of a released series, written for the tests without a draw."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from gridveil.network.network import Component, Network
from gridveil.network.series.load_series import LoadSeries
from gridveil.network.series.shapes import example_series
from gridveil.network.series.writing import long_table
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.publication.case_file import blank, publish


def write_released(folder: Path, network: Network, hours: int = 6) -> LoadSeries:
    """Write the files that exports read, with made-up loads instead of private ones."""
    series, _ = example_series(network, hours, 1)
    solved = [solve_acopf(network.with_loads(*series.at(hour))) for hour in range(hours)]
    folder.mkdir()
    text = publish(blank(network), *series.at(0), solved[0].point, network.idle_loads).text
    base = network.base_mva
    tables = {
        "loads": long_table(network, series.times, series.p * base, series.q * base),
        "dispatch": _joined(solved, series, "generators", ["generator", "p_mw", "q_mvar"]),
        "voltages": _joined(solved, series, "buses", ["bus", "v", "angle_degrees"]),
    }
    (folder / "network.m").write_text(text)
    for name, table in tables.items():
        parquet.write_table(table, folder / f"{name}.parquet")
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()
    }
    stated = {"network": network.name, "files": digests}
    (folder / "certificate.json").write_text(json.dumps(stated))
    return series


def _joined(
    solved: list[OPFResult], series: LoadSeries, component: Component, columns: list[str]
) -> pa.Table:
    """Return the table of a component in every hour."""
    return pa.concat_tables(
        pa.table(
            {
                "time": pa.array([time] * len(result.table(component)[columns[0]])),
                **{name: result.table(component)[name] for name in columns},
            }
        )
        for time, result in zip(series.times, solved, strict=True)
    )
