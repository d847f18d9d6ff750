"""A slice as a network, for the functions that lay out agents.

The party's own buses come first, then the buses of others that its components are connected to. Of
those only the voltage limits at the ends of lines are known; the rest of them is never used.
"""

from collections.abc import Sequence

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.federation.partition.slices import FROM, TO, Slice
from gridveil.network.case_file import CaseFile
from gridveil.network.components import Buses, Generators, Lines, Loads
from gridveil.network.costs import CostFunctions
from gridveil.network.network import Network

_NO_ROW = -1
_UNKNOWN_LIMITS = (1.0, 1.0)


def slice_network(party_slice: Slice) -> Network:
    """Return the components of a slice as a network."""
    buses = _bus_numbers(party_slice)
    index = {number: i for i, number in enumerate(buses)}
    return Network(
        name=party_slice.network,
        base_mva=party_slice.base_mva,
        buses=_buses(party_slice, buses),
        loads=_loads(party_slice, index),
        generators=_generators(party_slice, index),
        lines=_lines(party_slice, index),
        case=CaseFile(party_slice.party, party_slice.network, "", party_slice.base_mva, {}, {}),
    )


def _bus_numbers(party_slice: Slice) -> list[int]:
    own = [bus.number for bus in party_slice.buses]
    connected = {load.bus for load in party_slice.loads}
    connected |= {gen.bus for gen in party_slice.generators}
    connected |= {end.bus for line in party_slice.lines for end in line.ends}
    return [*own, *sorted(connected - {*own})]


def _buses(party_slice: Slice, numbers: Sequence[int]) -> Buses:
    own, count = party_slice.buses, len(numbers)
    limits = {end.bus: (end.v_min, end.v_max) for line in party_slice.lines for end in line.ends}
    limits |= {bus.number: (bus.v_min, bus.v_max) for bus in own}
    v_min, v_max = (
        np.array([limits.get(number, _UNKNOWN_LIMITS) for number in numbers]).reshape(-1, 2).T
    )

    def padded(values: Sequence[float]) -> FloatArray:
        return np.array([*values, *[0.0] * (count - len(own))], dtype=float)

    return Buses(
        number=np.array(numbers, dtype=np.int64),
        v_min=v_min,
        v_max=v_max,
        shunt_g=padded([bus.shunt_g for bus in own]),
        shunt_b=padded([bus.shunt_b for bus in own]),
        reference=padded([bus.reference for bus in own]).astype(bool),
        island=np.zeros(count, dtype=np.int64),
        row=np.full(count, _NO_ROW),
    )


def _loads(party_slice: Slice, index: dict[int, int]) -> Loads:
    values = party_slice.true_loads()
    return Loads(
        bus=np.array([index[bus] for bus in party_slice.load_buses], dtype=np.int64),
        number=np.array([load.number for load in party_slice.loads], dtype=np.int64),
        p=values[:, 0],
        q=values[:, 1],
        row=np.full(len(values), _NO_ROW),
    )


def _generators(party_slice: Slice, index: dict[int, int]) -> Generators:
    gens = party_slice.generators
    return Generators(
        bus=np.array([index[gen.bus] for gen in gens], dtype=np.int64),
        **{
            name: np.array([getattr(gen, name) for gen in gens], dtype=float)
            for name in ("p_min", "p_max", "q_min", "q_max")
        },
        costs=_costs(party_slice),
        row=_rows([gen.number for gen in gens]),
    )


def _costs(party_slice: Slice) -> CostFunctions:
    gens = party_slice.generators
    order = max((len(gen.coefficients) for gen in gens), default=1)
    padded = [(*gen.coefficients, *[0.0] * (order - len(gen.coefficients))) for gen in gens]
    segments = [(g, segment) for g, gen in enumerate(gens) for segment in gen.segments]
    return CostFunctions(
        coefficients=np.array(padded).reshape(len(gens), order),
        segment_generator=np.array([g for g, _ in segments], dtype=np.int64),
        segment_slope=np.array([slope for _, (slope, _) in segments], dtype=float),
        segment_intercept=np.array([intercept for _, (_, intercept) in segments], dtype=float),
    )


def _lines(party_slice: Slice, index: dict[int, int]) -> Lines:
    lines = party_slice.lines
    return Lines(
        from_bus=np.array([index[line.ends[FROM].bus] for line in lines], dtype=np.int64),
        to_bus=np.array([index[line.ends[TO].bus] for line in lines], dtype=np.int64),
        **{
            name: np.array([getattr(line, name) for line in lines], dtype=float)
            for name in ("r", "x", "b", "tap", "shift", "rate", "angle_min", "angle_max")
        },
        row=_rows([line.number for line in lines]),
    )


def _rows(numbers: Sequence[int]) -> IntArray:
    """Return the rows in the case file, from 0, that components are numbered by."""
    return np.array(numbers, dtype=np.int64) - 1
