"""Values of loads between MW in a source and per unit in a network, and their sums at buses."""

from collections.abc import Sequence

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.components import LoadList
from gridveil.network.source_loads import (
    LoadIdentity,
    SourceLoad,
    numbers_at_buses,
    rounded_sum,
)
from gridveil.network.units import LOAD, encoded_all


def load_values(loads: Sequence[SourceLoad], base_mva: float) -> dict[str, FloatArray]:
    """Return P and Q of loads in p.u."""
    p, q = (
        LOAD.decode(np.array([getattr(load, name) for load in loads], dtype=float), base_mva)
        for name in ("p_mw", "q_mvar")
    )
    return {"p": p, "q": q}


def idle_loads(
    active: Sequence[SourceLoad], idle: Sequence[SourceLoad], base_mva: float
) -> LoadList:
    """Return idle loads by their buses, numbered after those in service there."""
    idle = sorted(idle, key=lambda load: load.bus)
    numbers = numbers_at_buses(load.bus for load in (*active, *idle))[len(active) :]
    return LoadList(
        bus=np.array([load.bus for load in idle], dtype=np.int64),
        number=np.array(numbers, dtype=np.int64),
        identities=tuple(map(LoadIdentity.of, idle)),
        **load_values(idle, base_mva),
    )


def load_cells(loads: FloatArray, base_mva: float) -> FloatArray:
    """Return P and Q of loads in MW and MVAr, as short as reads back the same in p.u."""
    return encoded_all(LOAD, loads.ravel(), base_mva).reshape(-1, 2) + 0.0


def sums_by_row(rows: IntArray, values: FloatArray) -> dict[int, float]:
    """Return the sum of the loads at each row of the bus table, rounded once."""
    at_row: dict[int, list[float]] = {}
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        at_row.setdefault(row, []).append(value)
    return {row: rounded_sum(several) for row, several in at_row.items()}
