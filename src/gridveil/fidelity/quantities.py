"""Private quantities of lines, and private loads, restored together by one central program.

    minimise    Σ ‖t‖²/α_z² + ¼ Σ s²/α_R² + Σ w |Ŝ − S̃|²
    subject to  the network model with r̂ = r̃·e^(t_r), x̂ = x̃·e^(t_x), b̂ = b̃·e^(t_b),
                |S_f|², |S_t|² ≤ (1 + s)·rate²,    and the total cost in its band, if there is one

Every protected quantity is a variable, and moves as cheaply as its promise is weak: α_z and α_R are
the distances of the promises for impedances and ratings, w the weights of the loads in the metric
of theirs. ln of a rating moves by ½·ln(1 + s), about s/2. Lines are never fitted to noisy loads
that stand still: where loads are protected, they move as well.

Nothing here reads a raw value of a protected quantity.
"""

from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.fidelity.weights import joint_weights
from gridveil.network.network import Network
from gridveil.opf.line_physics import LinePhysics
from gridveil.opf.nonlinear_program import Watch
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.program import ProgramBuilder
from gridveil.opf.solvers import Solver, minimise, using
from gridveil.opf.start import starting_point
from gridveil.opf.status import Status, status_of
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.quantities.phase import NoisyQuantities
from gridveil.privacy.quantities.private_case import with_private_case

MOVED = ("impedances", "ratings")
"""The quantities that can be restored."""
_MOST = 3.0
"""How far the logarithm of an impedance may move: by a factor of 20."""
_LEAST_SHARE = 1e-3
"""The least share of its square that a rating keeps."""


@dataclass(frozen=True, eq=False, repr=False)
class RestoredQuantities(ArrayRecord):
    """A network restored from private quantities, with a dispatch that works."""

    network: Network
    status: Status
    point: OperatingPoint
    displacement: float
    """How far all quantities moved together, each in the distance of its promise."""
    iterations: int


def restore_quantities(
    network: Network,
    noisy: NoisyQuantities,
    *,
    loads: NoisyLoads | None = None,
    total: tuple[float, float] | None = None,
    watch: Watch | None = None,
) -> RestoredQuantities:
    """Find the network closest to private impedances, ratings and loads that works.

    Args:
        network: Its public parts, and its loads where none are given.
        noisy: The private quantities.
        loads: Private loads, where loads are protected too. They move with the lines.
        total: The band of the total cost in $/h, if there is one.
        watch: Called after every iteration of the solver; returning False stops it.

    Returns:
        The network, and an operating point within all limits. Look at `status` first.

    Raises:
        GridveilError: There is a quantity that cannot be restored, or no band for such costs.

    Example:
        >>> from gridveil import load_case, protect, restore_quantities, simulate_quantities
        >>> network = load_case("case14_ieee")
        >>> noisy = simulate_quantities(network, [protect("impedances", 1, "10%")], seed=1)
        >>> restore_quantities(network, noisy).status.solved
        True
    """
    kinds = [part.quantity.name for part in noisy.parts]
    others = [name for name in kinds if name not in MOVED]
    if others:
        raise GridveilError(
            f"{', '.join(others)}: only {' and '.join(MOVED)} can be restored, with or without "
            "loads"
        )
    private = noisy.network(network)
    if loads is not None:
        private = private.with_loads(loads.p, loads.q)
    if total is not None and len(private.generators.costs.segment_generator):
        raise GridveilError(
            "a band on the total cost is not supported with piecewise-linear costs; leave it out"
        )
    built = _Program(private, noisy, loads, total)
    program = built.builder.build()
    start = built.builder.start(program, starting_point(private))
    start[built.loads] = 0.0 if loads is None else np.concatenate([loads.p, loads.q])
    with using(Solver.IPOPT):
        solution = minimise(program, start, watch)
    restored = built.restored(solution.x)
    point = built.builder.point(solution.x)
    largest = violations(restored, point).largest
    return RestoredQuantities(
        with_private_case(restored, [part.quantity for part in noisy.parts]),
        status_of(solution.code, largest, FEASIBILITY_TOLERANCE),
        point,
        built.displacement(solution.x),
        solution.iterations,
    )


class _Program:
    """The program, and which of its variables stand for what; empty where none do."""

    def __init__(
        self,
        private: Network,
        noisy: NoisyQuantities,
        loads: NoisyLoads | None,
        total: tuple[float, float] | None,
    ) -> None:
        self._private, gens = private, private.generators
        distances = {part.quantity.name: part.guarantee.distance for part in noisy.parts}
        nothing = np.zeros(len(private.buses))
        still = private.bus_load() if loads is None else (nothing, nothing)
        self._lines = LinePhysics(private) if "impedances" in distances else None
        self.builder = builder = ProgramBuilder(private, *still, self._lines)
        self.ratings = self.loads = np.zeros(0, dtype=np.int64)
        self._goals: list[tuple[IntArray, FloatArray | float, FloatArray | float]] = []
        if self._lines is not None:
            self._add_impedances(_weight(distances["impedances"]))
        builder.add_dispatch(gens.p_min, gens.p_max, gens.q_min, gens.q_max)
        if "ratings" in distances:
            self._add_ratings(_weight(distances["ratings"]) / 4)
        if loads is not None:
            self._add_loads(loads)
        if total is not None:
            row = builder.add_rows(np.array([total[0]]), np.array([total[1]]))
            rows = np.repeat(row, len(gens))
            builder.set_polynomial_terms(rows, builder.p, gens.costs.coefficients)

    def restored(self, x: FloatArray) -> Network:
        """Return the network that the variables stand for."""
        network, limited = self._private, self.builder.physics.limited
        lines = network.lines if self._lines is None else self._lines.lines_at(x)
        if len(self.ratings):
            rate = lines.rate.copy()
            rate[limited] *= np.sqrt(1 + x[self.ratings])
            lines = replace(lines, rate=rate)
        network = replace(network, lines=lines)
        return network.with_loads(*x[self.loads].reshape(2, -1)) if len(self.loads) else network

    def displacement(self, x: FloatArray) -> float:
        """Return the square root of the objective, without its cancelling terms."""
        squares = (weight * (x[of] - goal) ** 2 for of, goal, weight in self._goals)
        return float(np.sqrt(sum(np.sum(square) for square in squares)))

    def _add_impedances(self, weight: float) -> None:
        """Add t of r, x and b of every line; what is 0 stays."""
        lines = self._private.lines
        most = np.where(np.concatenate([lines.r, lines.x, lines.b]) == 0, 0.0, _MOST)
        moves = self.builder.add_variables(-most, most, _squares(np.zeros(len(most)), weight))
        self._goals.append((moves, 0.0, weight))

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
