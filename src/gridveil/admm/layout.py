"""All agents of a network as arrays, and the place of each of their copies in the shared vectors.

The copies x of the agents, the buses' copies z, the multipliers λ and the penalties ρ are vectors
of one shape: p of every load, q of every load, p and q of every generator, and then for each of the
eight quantities that a line shares (see agents.py) all lines. The vectors of a party of a
federation also hold copies of foreign components, those of other parties at its own buses, between
its generators and its lines.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO, flow_coefficients
from gridveil.network.network import Network

FLOWS, VOLTAGES, ANGLES = (P_FROM, Q_FROM, P_TO, Q_TO), (4, 5), (6, 7)
"""Rows of a line's copies: its flows, and w and θ at the from and the to end."""
LINE_COPIES = len(FLOWS + VOLTAGES + ANGLES)

LOADS, GENERATORS, FIRST_LINE_GROUP = range(3)
"""Groups of penalties: all loads, all generators; from then on p of all lines, q, w and θ."""
_LINE_PAIRS = ((P_FROM, P_TO), (Q_FROM, Q_TO), VOLTAGES, ANGLES)
"""The copies of a line that form a group: one quantity at its two ends."""
GROUPS_PER_LINE = len(_LINE_PAIRS)
FOREIGN_LOADS, FOREIGN_GENERATORS, FOREIGN_LINES = -3, -2, -1
"""The last groups, counted from the end, are those of foreign components."""
_FOREIGN_GROUPS = 3


class Layout(NamedTuple):
    """The data of all agents. A bus's ports are its loads, its generators and its line ends."""

    interval_start: IntArray
    """(generators + 1): where each generator's intervals begin in the next two."""
    interval_low: FloatArray
    interval_high: FloatArray
    q_min: FloatArray
    q_max: FloatArray
    cost: FloatArray
    """(order + 1, generators): the coefficients of their polynomial costs, ascending powers."""
    segment_start: IntArray
    """(generators + 1): where the segments of piecewise-linear costs begin in the next two."""
    segment_slope: FloatArray
    segment_intercept: FloatArray
    square: FloatArray
    """(4, lines), as cosine and sine: the flow coefficients a, α, β."""
    cosine: FloatArray
    sine: FloatArray
    rate: FloatArray
    box: FloatArray
    """(6, lines): lower and upper limits of v_f, v_t and δ."""
    port_start: IntArray
    """(buses + 1): where each bus's ports begin in the next three."""
    port_p: IntArray
    """Where the p of a port stands in the shared vectors."""
    port_q: IntArray
    port_sign: FloatArray
    """+1 if it feeds the bus, −1 if it draws from it."""
    end_start: IntArray
    """(buses + 1): where each bus's line ends begin in the next two."""
    end_w: IntArray
    end_angle: IntArray
    shunt_g: FloatArray
    shunt_b: FloatArray
    w_min: FloatArray
    w_max: FloatArray
    reference: BoolArray
    group: IntArray
    """The group of every copy: the penalties of a group change together."""

    @property
    def size(self) -> int:
        """The length of the shared vectors."""
        return len(self.group)

    @property
    def groups(self) -> int:
        """The number of groups of penalties."""
        return FIRST_LINE_GROUP + GROUPS_PER_LINE * len(self.rate) + _FOREIGN_GROUPS

    @property
    def loads(self) -> int:
        """The number of loads; foreign ones do not count."""
        return int(np.count_nonzero(self.group == LOADS)) // 2

    @property
    def generators(self) -> int:
        """The number of generators; foreign ones do not count."""
        return len(self.q_min)

    @property
    def first_generator(self) -> int:
        """Where the copies of the generators begin."""
        return 2 * self.loads

    @property
    def first_line(self) -> int:
        """Where the copies of the lines begin."""
        return self.size - LINE_COPIES * len(self.rate)

    def lines(self, vector: FloatArray) -> FloatArray:
        """Return a view of a shared vector as (LINE_COPIES, lines)."""
        return vector[self.first_line :].reshape(LINE_COPIES, len(self.rate))

    def band_ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest output that each generator's intervals allow."""
        return (
            self.interval_low[self.interval_start[:-1]],
            self.interval_high[self.interval_start[1:] - 1],
        )

    def owners(self) -> IntArray:
        """Return the bus of every copy."""
        owner = np.zeros(self.size, dtype=np.int64)
        ports, ends = (
            np.repeat(np.arange(len(start) - 1), np.diff(start))
            for start in (self.port_start, self.end_start)
        )
        owner[self.port_p] = owner[self.port_q] = ports
        owner[self.end_w] = owner[self.end_angle] = ends
        return owner

    def line_ends(self) -> IntArray:
        """Return the bus at the from and at the to end of every line: (2, lines)."""
        copies = self.owners()[self.first_line :].reshape(LINE_COPIES, len(self.rate))
        return copies[ANGLES, :]


def build_layout(network: Network, intervals: Sequence[Sequence[tuple[float, float]]]) -> Layout:
    """Lay out the agents of a network. The values of its loads play no part.

    Args:
        network: The network.
        intervals: For each generator the intervals of its allowed outputs in p.u., ascending.
    """
    loads, gens, lines, buses = network.loads, network.generators, network.lines, network.buses
    n_loads, n_gens, n_lines = len(loads), len(gens), len(lines)
    start, end = lines.from_bus, lines.to_bus
    coefficients = flow_coefficients(lines)
    first_generator = 2 * n_loads
    first_line = first_generator + 2 * n_gens
    copies = first_line + np.arange(LINE_COPIES * n_lines).reshape(LINE_COPIES, n_lines)
    load, gen = np.arange(n_loads), first_generator + np.arange(n_gens)
    port_start, ports = _by_bus(np.concatenate([loads.bus, gens.bus, start, end]), len(buses))
    end_start, ends = _by_bus(np.concatenate([start, end]), len(buses))
    ends_of_intervals = [interval for own in intervals for interval in own]
    return Layout(
        interval_start=np.cumsum([0, *map(len, intervals)]),
        interval_low=np.array([low for low, _ in ends_of_intervals], dtype=float),
        interval_high=np.array([high for _, high in ends_of_intervals], dtype=float),
        q_min=gens.q_min.copy(),
        q_max=gens.q_max.copy(),
        cost=gens.costs.coefficients.T.copy(),
        segment_start=np.searchsorted(gens.costs.segment_generator, np.arange(n_gens + 1)),
        segment_slope=gens.costs.segment_slope.copy(),
        segment_intercept=gens.costs.segment_intercept.copy(),
        square=coefficients.square.copy(),
        cosine=coefficients.cosine.copy(),
        sine=coefficients.sine.copy(),
        rate=lines.rate.copy(),
        box=np.stack(
            [
                buses.v_min[start],
                buses.v_max[start],
                buses.v_min[end],
                buses.v_max[end],
                lines.angle_min,
                lines.angle_max,
            ]
        ),
        port_start=port_start,
        port_p=np.concatenate([load, gen, copies[P_FROM], copies[P_TO]])[ports],
        port_q=np.concatenate([load + n_loads, gen + n_gens, copies[Q_FROM], copies[Q_TO]])[ports],
        port_sign=np.repeat([-1.0, 1.0, -1.0], [n_loads, n_gens, 2 * n_lines])[ports],
        end_start=end_start,
        end_w=copies[VOLTAGES, :].ravel()[ends],
        end_angle=copies[ANGLES, :].ravel()[ends],
        shunt_g=buses.shunt_g.copy(),
        shunt_b=buses.shunt_b.copy(),
        w_min=buses.v_min**2,
        w_max=buses.v_max**2,
        reference=buses.reference.copy(),
        group=_groups(n_loads, n_gens, n_lines),
    )


def _groups(loads: int, generators: int, lines: int) -> IntArray:
    """Return the group of every copy."""
    of_lines = np.empty((LINE_COPIES, lines), dtype=np.int64)
    for number, pair in enumerate(_LINE_PAIRS):
        of_lines[pair, :] = FIRST_LINE_GROUP + number * lines + np.arange(lines)
    of_others = np.repeat(np.array([LOADS, GENERATORS]), [2 * loads, 2 * generators])
    return np.concatenate([of_others, of_lines.ravel()])


def _by_bus(bus: IntArray, buses: int) -> tuple[IntArray, IntArray]:
    """Return where each bus's items begin, and the items in the order of their buses."""
    order = np.argsort(bus, kind="stable")
    return np.searchsorted(bus[order], np.arange(buses + 1)), order
