"""A released series as scenarios of gridfm-datakit: a row for each hour and bus.

As its `load_scenarios_to_df` has them, loads are the buses of the case file in their order, from 0,
those without a load too.
"""

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from gridveil.arrays import FloatArray
from gridveil.network.series.writing import table_bytes
from gridveil.publication.folder import NETWORK
from gridveil.publication.series.export.released import ReleasedSeries

SCENARIOS = "scenarios.parquet"


def gridfm_files(released: ReleasedSeries) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a released series for gridfm-datakit, and what they do not hold."""
    hours, buses = len(released.times), len(released.network.case.tables["bus"])
    table = pa.table(
        {
            "load_scenario": np.repeat(np.arange(hours), buses),
            "load": np.tile(np.arange(buses), hours),
            "p_mw": _at_rows(released, released.p_mw, buses).ravel(),
            "q_mvar": _at_rows(released, released.q_mvar, buses).ravel(),
        }
    )
    several = len(np.unique(released.network.loads.row)) < len(released.network.loads)
    told = ["several loads at a bus are one there, their sum"] if several else []
    return {NETWORK: released.case_text, SCENARIOS: table_bytes(table, ".parquet")}, told


def _at_rows(released: ReleasedSeries, values: FloatArray, buses: int) -> FloatArray:
    """Return the sums of loads at each row of the bus table, of shape (hours, rows)."""
    sums = np.zeros((len(values), buses))
    for load, row in enumerate(released.network.loads.row.tolist()):
        sums[:, row] += values[:, load]
    return sums
