"""Scenarios solved: the rows of each table.

| table | a row for each | columns, after `scenario` |
| --- | --- | --- |
| scenarios | scenario | time, common_factor, status, solved, cost, max_violation |
| loads | load | load, bus, number, p_mw, q_mvar |
| generators | generator | generator, bus, p_mw, q_mvar, cost |
| buses | bus | bus, v, angle_degrees, active_price, reactive_price |
| lines | line | line, from_bus, to_bus, p_from_mw, …, loading, rate_price |

All but the first have solved scenarios alone. Prices are duals: what one more MW or MVAr of load at
a bus costs, in $/MWh, and what one more MVA of a line's limit saves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from gridveil.arrays import FloatArray
from gridveil.experiments.dataset.perturbations import Scenario
from gridveil.network.network import Component, Network
from gridveil.opf.acopf import OPFResult, acopf_program, solve_acopf

SCENARIOS = "scenarios"
COMPONENTS: dict[Component, tuple[str, ...]] = {
    "loads": ("load", "bus", "number", "p_mw", "q_mvar"),
    "generators": ("generator", "bus", "p_mw", "q_mvar", "cost"),
    "buses": ("bus", "v", "angle_degrees", "active_price", "reactive_price"),
    "lines": ("line", "from_bus", "to_bus", "p_from_mw", "q_from_mvar", "p_to_mw", "q_to_mvar",
              "loading", "rate_price"),
}  # fmt: skip
"""The columns of each table of components."""
TABLES = (*COMPONENTS, SCENARIOS)
_SCENARIO = pa.schema(
    [("scenario", pa.int64()), ("time", pa.timestamp("s", "UTC")), ("common_factor", pa.float64()),
     ("status", pa.string()), ("solved", pa.bool_()), ("cost", pa.float64()),
     ("max_violation", pa.float64())]
)  # fmt: skip


def samples(network: Network, scenarios: Sequence[Scenario]) -> dict[str, pa.Table]:
    """Solve scenarios and return the rows of each table, by its name."""
    rows: list[dict[str, Any]] = []
    parts: dict[str, list[pa.Table]] = {component: [] for component in COMPONENTS}
    for one in scenarios:
        result = solve_acopf(network.with_loads(one.p, one.q))
        solved = result.status.solved
        rows.append(
            {
                "scenario": one.number,
                "time": np.datetime64(one.time.removesuffix("Z")).item() if one.time else None,
                "common_factor": one.common_factor,
                "status": result.status.name.lower(),
                "solved": solved,
                "cost": result.cost if solved else None,
                "max_violation": result.max_violation if solved else None,
            }
        )
        for component, columns in COMPONENTS.items():
            parts[component].append(_rows(result, component, columns, one.number, solved))
    tables = {component: pa.concat_tables(several) for component, several in parts.items()}
    return {**tables, SCENARIOS: pa.Table.from_pylist(rows, schema=_SCENARIO)}


def _rows(
    result: OPFResult, component: Component, columns: tuple[str, ...], scenario: int, solved: bool
) -> pa.Table:
    values = result.table(component)
    if component == "loads":
        values["load"] = np.arange(1, len(result.network.loads) + 1)
    if component == "lines":
        values["rate_price"] = rate_prices(result)
    count = len(values[columns[0]])
    table = pa.table(
        {
            "scenario": np.full(count, scenario, dtype=np.int64),
            **{name: np.asarray(values[name]) for name in columns},
        }
    )
    return table if solved else table.slice(0, 0)


def rate_prices(result: OPFResult) -> FloatArray:
    """Return what one more MVA of each line's limit saves, in $/MVAh; 0 where it has none.

    Example:
        >>> result = solve_acopf("case5_pjm")
        >>> (rate_prices(result) > 1e-3).tolist()
        [False, False, False, False, False, True]
    """
    network = result.network
    limited = np.flatnonzero(np.isfinite(network.lines.rate))
    multipliers = result.solution.g_multipliers[acopf_program(network).thermal]
    # The program limits |S|² at both ends, the derivative of whose limit is 2 · rate.
    both = multipliers.reshape(2, len(limited)).sum(axis=0)
    prices = np.zeros(len(network.lines))
    prices[limited] = 2 * network.lines.rate[limited] * both / network.base_mva
    return prices * network.has_costs
