"""The program of private impedances, ratings, limits of generators and loads that move together.

The variables of impedances are t, by how much logarithms have moved (opf/line_physics.py); those of
ratings are s, by which part |S|² may be larger; those of limits are m, by which part they are
larger in size; loads are themselves. `quantities.py` has the problem in symbols.
"""

from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.fidelity.weights import joint_weights
from gridveil.network.network import Network
from gridveil.opf.cost_gradients import CostGradients
from gridveil.opf.line_physics import LinePhysics
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.program import NetworkProgram, ProgramBuilder
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.quantities.base import is_protected
from gridveil.privacy.quantities.limits import Limits
from gridveil.privacy.quantities.phase import NoisyQuantities

REACH = 0.5
"""How far t, s and m may move in a round with a cut: prices say little of what is further away."""
_MOST = 3.0
"""How far the logarithm of an impedance may move: by a factor of 20."""
_LEAST_SHARE = 1e-3
"""The least share of its square that a rating keeps."""
_UNBOUNDED = np.array([-np.inf, np.inf, -np.inf, np.inf])
"""No limit of generators, in the order of `Limits.coordinates`."""
_CUT_PRICE = 1e3
"""Cost of missing a cut by as much as the dearest variable changes it when it moves by 1, relative
to the largest weight."""


@dataclass(frozen=True, eq=False)
class QuantityCut(ArrayRecord):
    """A half-space of all that moves: gradient·x ≥ least, or as near to it as can be."""

    gradient: FloatArray
    least: float
    around: FloatArray
    """The point at which it was taken, from which t, s and m stay within `REACH`."""


class QuantitiesProgram:
    """The program, and which of its variables stand for what; empty where none do."""

    def __init__(
        self,
        private: Network,
        noisy: NoisyQuantities,
        loads: NoisyLoads | None,
        total: tuple[float, float] | None,
        cut: "QuantityCut | None" = None,
    ) -> None:
        """Build it.

        Args:
            private: The network with private quantities, and private loads where they are so.
            noisy: The private quantities.
            loads: Private loads; None where loads are public.
            total: The band of the total cost, if there is one.
            cut: A half-space to keep to, near a point to stay near to.
        """
        self._private, gens = private, private.generators
        self._limits = Limits.values(private).T
        self._moving = is_protected(self._limits)
        distances = {part.quantity.name: part.guarantee.distance for part in noisy.parts}
        nothing = np.zeros(len(private.buses))
        still = private.bus_load() if loads is None else (nothing, nothing)
        self._lines = LinePhysics(private) if "impedances" in distances else None
        self.builder = builder = ProgramBuilder(private, *still, self._lines)
        self.ratings = self.limits = self.loads = np.zeros(0, dtype=np.int64)
        self._goals: list[tuple[IntArray, FloatArray | float, FloatArray | float]] = []
        self.impedances = self.ratings
        if self._lines is not None:
            self._add_impedances(_weight(distances["impedances"]))
        if "limits" in distances:
            self._add_limits(_weight(distances["limits"]))
        else:
            builder.add_dispatch(gens.p_min, gens.p_max, gens.q_min, gens.q_max)
        if "ratings" in distances:
            self._add_ratings(_weight(distances["ratings"]) / 4)
        if loads is not None:
            self._add_loads(loads)
        if total is not None:
            row = builder.add_rows(np.array([total[0]]), np.array([total[1]]))
            rows = np.repeat(row, len(gens))
            builder.set_polynomial_terms(rows, builder.p, gens.costs.coefficients)
        program = builder.build() if cut is None else self._cut(cut)
        self.program: NetworkProgram = program

    @property
    def moved(self) -> IntArray:
        """The variables of all protected quantities."""
        return np.concatenate([*self._relative, self.loads])

    @property
    def _relative(self) -> tuple[IntArray, ...]:
        """Those of them that say by which part something has moved."""
        return self.impedances, self.ratings, self.limits

    def start(self, point: OperatingPoint, moved: FloatArray | None = None) -> FloatArray:
        """Return variables at an operating point, with quantities moved from the private ones."""
        x = self.builder.start(self.program, point)
        if moved is not None:
            x[self.moved] = moved
            return x
        for of, goal, _ in self._goals:
            x[of] = goal
        return x

    def gradient(self, x: FloatArray, gradients: CostGradients) -> FloatArray:
        """Return the gradient of the optimal cost by all that moves, in the order of `moved`."""
        lines, limited = self.restored(x).lines, self.builder.physics.limited
        by_t = np.concatenate([gradients.r * lines.r, gradients.x * lines.x, gradients.b * lines.b])
        square = self._private.lines.rate[limited] ** 2
        by_s = gradients.rate[limited] * square / (2 * lines.rate[limited])
        by_load = np.concatenate([gradients.load_p, gradients.load_q])
        of_limits = np.stack([getattr(gradients, name) for name in Limits.coordinates])
        by_m = of_limits[self._moving] * self._limits[self._moving]
        parts = zip((*self._relative, self.loads), (by_t, by_s, by_m, by_load), strict=True)
        return np.concatenate([slope[: len(of)] for of, slope in parts])

    def restored(self, x: FloatArray) -> Network:
        """Return the network that the variables stand for."""
        network, limited = self._private, self.builder.physics.limited
        lines = network.lines if self._lines is None else self._lines.lines_at(x)
        if len(self.ratings):
            rate = lines.rate.copy()
            rate[limited] *= np.sqrt(1 + x[self.ratings])
            lines = replace(lines, rate=rate)
        network = replace(network, lines=lines)
        if len(self.limits):
            limits = self._limits.copy()
            limits[self._moving] *= 1 + x[self.limits]
            network = Limits.with_values(network, limits.T)
        return network.with_loads(*x[self.loads].reshape(2, -1)) if len(self.loads) else network

    def displacement(self, x: FloatArray) -> float:
        """Return the square root of the objective, without its cancelling terms."""
        squares = (weight * (x[of] - goal) ** 2 for of, goal, weight in self._goals)
        return float(np.sqrt(sum(np.sum(square) for square in squares)))

    def _cut(self, cut: "QuantityCut") -> NetworkProgram:
        """Return the program with a cut as a row that can be missed at a price."""
        builder, moved = self.builder, self.moved
        scale = max(float(np.abs(cut.gradient).max(initial=0.0)), 1e-12)
        row = builder.add_rows(np.array([cut.least / scale]), np.array([np.inf]))
        builder.add_entries(np.repeat(row, len(moved)), moved, cut.gradient / scale)
        heaviest = max(float(np.max(weight)) for _, _, weight in self._goals)
        missed = builder.add_variables(
            np.zeros(1), np.full(1, np.inf), np.array([[0.0, _CUT_PRICE * heaviest]])
        )
        builder.add_entries(row, missed, 1.0)
        program = builder.build()
        near = np.concatenate(self._relative)
        centre = cut.around[: len(near)]
        x_min, x_max = program.x_min.copy(), program.x_max.copy()
        x_min[near] = np.maximum(x_min[near], centre - REACH)
        x_max[near] = np.minimum(x_max[near], centre + REACH)
        return replace(program, x_min=x_min, x_max=x_max)

    def _add_impedances(self, weight: float) -> None:
        """Add t of r, x and b of every line; what is 0 stays."""
        lines = self._private.lines
        most = np.where(np.concatenate([lines.r, lines.x, lines.b]) == 0, 0.0, _MOST)
        goals = _squares(np.zeros(len(most)), weight)
        self.impedances = self.builder.add_variables(-most, most, goals)
        self._goals.append((self.impedances, 0.0, weight))

    def _add_limits(self, weight: float) -> None:
        """Add outputs, and m of every protected limit: p ≥ (1 + m)·p_min, and so on.

        Limits that are 0 or infinite are public, and stay bounds of the outputs.
        """
        builder, limits, moves = self.builder, self._limits, self._moving
        p_min, p_max, q_min, q_max = np.where(moves, _UNBOUNDED[:, None], limits)
        builder.add_dispatch(p_min, p_max, q_min, q_max)
        count = int(moves.sum())
        self.limits = builder.add_variables(
            np.full(count, _LEAST_SHARE - 1),
            np.full(count, np.inf),
            _squares(np.zeros(count), weight),
        )
        self._goals.append((self.limits, 0.0, weight))
        kind, unit = np.nonzero(moves)
        outputs = np.stack([builder.p, builder.p, builder.q, builder.q])[kind, unit]
        values, is_least = limits[moves], _UNBOUNDED[kind] < 0
        rows = builder.add_rows(
            np.where(is_least, values, -np.inf), np.where(is_least, np.inf, values)
        )
        builder.add_entries(rows, outputs, 1.0)
        builder.add_entries(rows, self.limits, -values)

    def _add_ratings(self, weight: float) -> None:
        """Add s of every line with a rating to the limits of both its ends."""
        builder, limited = self.builder, self.builder.physics.limited
        count = len(limited)
        self.ratings = builder.add_variables(
            np.full(count, _LEAST_SHARE - 1),
            np.full(count, np.inf),
            _squares(np.zeros(count), weight),
        )
        self._goals.append((self.ratings, 0.0, weight))
        square = self._private.lines.rate[limited] ** 2
        builder.add_entries(builder.thermal, np.tile(self.ratings, 2), -np.tile(square, 2))

    def _add_loads(self, noisy: NoisyLoads) -> None:
        """Add P and Q of every load to the balance of its bus."""
        builder, bus = self.builder, self._private.loads.bus
        values = np.concatenate([noisy.p, noisy.q])
        weights = np.tile(joint_weights(noisy.guarantee, np.stack([noisy.p, noisy.q], axis=1)), 2)
        unbounded = np.full(len(values), np.inf)
        self.loads = builder.add_variables(-unbounded, unbounded, _squares(values, weights))
        self._goals.append((self.loads, values, weights))
        rows = np.concatenate([builder.active[bus], builder.reactive[bus]])
        builder.add_entries(rows, self.loads, 1.0)


def _squares(goals: FloatArray, weights: FloatArray | float) -> FloatArray:
    """Return the polynomials w(x − x̃)², a row to each variable."""
    ones = np.ones_like(goals)
    return np.stack([weights * goals**2, -2 * weights * goals, weights * ones], axis=1)


def _weight(distance: float | None) -> float:
    """Return 1/α²; every promise about a quantity has a distance."""
    assert distance is not None
    return 1 / distance**2
