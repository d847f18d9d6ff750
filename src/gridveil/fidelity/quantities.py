"""Private quantities of lines and generators, and private loads, restored by one central program.

    minimise    Σ ‖t‖²/α_z² + ¼ Σ s²/α_R² + Σ ‖m‖²/α_L² + Σ w |Ŝ − S̃|²
    subject to  the network model with r̂ = r̃·e^(t_r), x̂ = x̃·e^(t_x), b̂ = b̃·e^(t_b),
                |S_f|², |S_t|² ≤ (1 + s)·rate²,    p ≤ (1 + m)·p_max and so on,
                and the total cost in its band, if there is one

Every protected quantity is a variable, and moves as cheaply as its promise is weak: α_z, α_R and
α_L are the distances of the promises for impedances, ratings and limits, w the weights of the loads
in the metric of theirs. ln of a rating moves by ½·ln(1 + s), about s/2. Lines are never fitted to
noisy loads that stand still: where loads are protected, they move as well.

Nothing here reads a raw value of a protected quantity.
"""

from dataclasses import dataclass

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.quantities_program import QuantitiesProgram, QuantityCut
from gridveil.network.network import Network
from gridveil.opf.nonlinear_program import Watch
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.solvers import Solver, minimise, using
from gridveil.opf.start import starting_point
from gridveil.opf.status import Status, status_of
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.quantities.phase import NoisyQuantities
from gridveil.privacy.quantities.private_case import with_private_case

MOVED = ("impedances", "ratings", "limits")
"""The quantities that can be restored."""


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
    """Find the network closest to private impedances, ratings, limits and loads that works.

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
    return nearest_quantities(
        private_network(network, noisy, loads, total), noisy, loads, total, watch=watch
    ).restored


@dataclass(frozen=True)
class Attempt:
    """One solve: what was found, the program, and all its variables."""

    restored: RestoredQuantities
    built: QuantitiesProgram
    x: FloatArray


def private_network(
    network: Network,
    noisy: NoisyQuantities,
    loads: NoisyLoads | None,
    total: tuple[float, float] | None,
) -> Network:
    """Return a network with private values in place of the raw ones, if it can be restored.

    Raises:
        GridveilError: There is a quantity that cannot be restored, or no band for such costs.
    """
    kinds = [part.quantity.name for part in noisy.parts]
    others = [name for name in kinds if name not in MOVED]
    if others:
        raise GridveilError(
            f"{', '.join(others)}: only {', '.join(MOVED)} can be restored, with or without loads"
        )
    if total is not None and len(network.generators.costs.segment_generator):
        raise GridveilError(
            "a band on the total cost is not supported with piecewise-linear costs; leave it out"
        )
    private = noisy.network(network)
    return private if loads is None else private.with_loads(loads.p, loads.q)


def nearest_quantities(
    private: Network,
    noisy: NoisyQuantities,
    loads: NoisyLoads | None,
    total: tuple[float, float] | None,
    *,
    before: Attempt | None = None,
    cut: QuantityCut | None = None,
    watch: Watch | None = None,
) -> Attempt:
    """Solve the program, from where an attempt before ended if there is one.

    Args:
        private: The network with private quantities and loads.
        noisy: The private quantities.
        loads: Private loads; None where loads are public.
        total: The band of the total cost, if there is one.
        before: The attempt to start from.
        cut: A half-space to keep to.
        watch: Called after every iteration of the solver; returning False stops it.
    """
    built = QuantitiesProgram(private, noisy, loads, total, cut)
    with using(Solver.IPOPT):
        if before is None:
            start = built.start(starting_point(private))
        else:
            start = built.start(before.restored.point, before.x[before.built.moved])
        solution = minimise(built.program, start, watch)
    restored = built.restored(solution.x)
    point = built.builder.point(solution.x)
    largest = violations(restored, point).largest
    found = RestoredQuantities(
        with_private_case(
            restored,
            [part.quantity for part in noisy.parts],
            has_private_loads=loads is not None,
        ),
        status_of(solution.code, largest, FEASIBILITY_TOLERANCE),
        point,
        built.displacement(solution.x),
        solution.iterations,
    )
    return Attempt(found, built, solution.x)
