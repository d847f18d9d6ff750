"""All agents of a network as arrays, and where in the shared vectors each of their copies stands.

The copies x of the agents, the buses' copies z, the multipliers λ and the penalties ρ are vectors
of one shape: p of every load, q of every load, p and q of every generator, and then for each of the
eight things a line shares (see agents.py) all lines.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.fidelity.bands import Band
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO, flow_coefficients
from gridveil.network.network import Network

VOLTAGES, ANGLES = (4, 5), (6, 7)
"""Which of a line's eight copies are w and θ, at the from and the to end."""
LINE_COPIES = 8


class Layout(NamedTuple):
    """What the agents know of themselves. A bus's ports are the loads, generators and line ends."""

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
    """Which penalties change together: loads, generators, and of a line p, q, w and θ."""

    @property
    def size(self) -> int:
        """The length of the shared vectors."""
        return len(self.group)

    @property
    def groups(self) -> int:
        """How many groups of penalties there are: the last three are for a party's visitors."""
        return self.visitors + 3

    @property
    def visitors(self) -> int:
        """The first group of others' components at a party's buses: loads, generators, lines."""
        return 2 + 4 * len(self.rate)

    @property
    def generators(self) -> int:
        """The number of generators."""
        return len(self.q_min)

    @property
    def first_line(self) -> int:
        """Where the copies of the lines begin."""
        return self.size - LINE_COPIES * len(self.rate)

    @property
    def loads(self) -> int:
        """The number of loads."""
        return self.first_line // 2 - self.generators

    def lines(self, vector: FloatArray) -> FloatArray:
        """Return a view of a shared vector as (8, lines)."""
        return vector[self.first_line :].reshape(LINE_COPIES, len(self.rate))

    def band_ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest output that each generator's band allows."""
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


def build_layout(network: Network, bands: Sequence[Band]) -> Layout:
    """Lay out the agents of a network. The values of its loads play no part."""
    loads, gens, lines, buses = network.loads, network.generators, network.lines, network.buses
    n_loads, n_gens, n_lines = len(loads), len(gens), len(lines)
    start, end = lines.from_bus, lines.to_bus
    coefficients = flow_coefficients(lines)
    first_gen = 2 * n_loads
    first_line = first_gen + 2 * n_gens
    copies = first_line + np.arange(LINE_COPIES * n_lines).reshape(LINE_COPIES, n_lines)
    load, gen = np.arange(n_loads), first_gen + np.arange(n_gens)
    port_start, ports = _by_bus(np.concatenate([loads.bus, gens.bus, start, end]), len(buses))
    end_start, ends = _by_bus(np.concatenate([start, end]), len(buses))
    intervals = [interval for band in bands for interval in band.intervals]
    group = np.zeros(first_line + copies.size, dtype=np.int64)
    group[first_gen:first_line] = 1
    for kind, of_kind in enumerate(((P_FROM, P_TO), (Q_FROM, Q_TO), VOLTAGES, ANGLES)):
        for copy in of_kind:
            group[copies[copy]] = 2 + kind * n_lines + np.arange(n_lines)
    return Layout(
        interval_start=np.cumsum([0, *(len(band.intervals) for band in bands)]),
        interval_low=np.array([low for low, _ in intervals], dtype=float),
        interval_high=np.array([high for _, high in intervals], dtype=float),
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
        group=group,
    )


def _by_bus(bus: IntArray, buses: int) -> tuple[IntArray, IntArray]:
    """Return where each bus's items begin, and the items in the order of their buses."""
    order = np.argsort(bus, kind="stable")
    return np.searchsorted(bus[order], np.arange(buses + 1)), order
