"""The fidelity phase: `restore` moves noisy loads just far enough that the network works."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from gridveil.admm.options import AgentOptions
from gridveil.arrays import FloatArray
from gridveil.defaults import BAND, BETA
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem
from gridveil.fidelity.central import bands_of
from gridveil.fidelity.load_limits import LoadLimits, nearest_loads_within
from gridveil.fidelity.registry import band_kind, make_method
from gridveil.fidelity.result import Restored, evaluate
from gridveil.fidelity.weights import metric_weights
from gridveil.network.network import Network
from gridveil.opf.record import recorded_solves
from gridveil.privacy.phase import NoisyLoads


def restore(
    network: Network,
    noisy: NoisyLoads,
    costs: ArrayLike | None = None,
    beta: float = float(BETA),
    method: FidelityMethod | str | None = None,
    band: BandKind | str = BAND,
    agents: AgentOptions | None = None,
    limits: LoadLimits | None = None,
    dispatch: ArrayLike | None = None,
) -> Restored:
    """Return the loads closest to the noisy ones with which the network works.

    Distances are those of the metric of the promise that came with the noisy loads.

    Args:
        network: The network; the values of its loads are not used, only where they are.
        noisy: The noisy loads S̃.
        costs: The costs O*_g of the generators in $/h, for a band on costs.
        beta: How far costs may be off them, relatively, or outputs, as a share of ranges.
        method: "central" solves the paper's P_RBL: some dispatch within the bands serves the
            loads. "bilevel" solves P_BL: also the optimal dispatch of the restored network costs
            what it should, in total. "admm" solves P_RBL among agents; Ctrl-C ends it with what
            was reached. Or a method of your own. None takes "bilevel" for a band on costs, and
            "central" for others.
        band: What stays within beta: the "cost" of every generator (the paper's Model 3), their
            "total", the "dispatch", or "none".
        agents: How agents run, for the method "admm".
        limits: Public limits of the loads: noisy ones are moved to the nearest within them first,
            and restored ones keep them.
        dispatch: The outputs p*_g of the generators in p.u., for the band "dispatch".

    Example:
        >>> from gridveil import PolarLaplace, load_case, restore, simulate_loads, solve_acopf
        >>> network = load_case("case5_pjm")
        >>> noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), seed=1)
        >>> restored = restore(network, noisy, solve_acopf(network).generator_costs, beta=0.05)
        >>> restored.status.solved, restored.max_violation < 1e-6
        (True, True)
    """
    chosen, target = make_method(method, agents, band_kind(band)), _target(costs, dispatch, band)
    (problem,) = fidelity_problems(network, [noisy], target, beta, chosen, band, limits)
    return solve(chosen, problem)


def restore_many(
    network: Network,
    draws: Sequence[NoisyLoads],
    costs: ArrayLike | None = None,
    beta: float = float(BETA),
    method: FidelityMethod | str | None = None,
    band: BandKind | str = BAND,
    agents: AgentOptions | None = None,
    limits: LoadLimits | None = None,
    *,
    dispatch: ArrayLike | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Restored]:
    """Restore many draws of one network.

    Agents run as many draws at once as there are threads, or on a GPU as many as fit. So does the
    interior-point method with the method "central"; see `using` for solver and device.

    Args:
        network: As for `restore`, and so are `costs`, `beta`, `method`, `band` and `agents`.
        draws: The noisy loads of every draw.
        costs: See `restore`; or a row of costs for each draw, of shape (draws, generators).
        beta: See `restore`.
        method: See `restore`.
        band: See `restore`.
        agents: See `restore`.
        limits: See `restore`.
        dispatch: See `restore`; or a row of outputs for each draw.
        threads: Draws at once on a CPU; one per core if None.
        progress: Called with how many draws are done.

    Example:
        >>> from gridveil import PolarLaplace, load_case, restore_many, simulate_loads, solve_acopf
        >>> network = load_case("case5_pjm")
        >>> costs = solve_acopf(network).generator_costs
        >>> draws = [simulate_loads(network, PolarLaplace.of(1, 0.1), seed) for seed in (1, 2)]
        >>> [found.status.solved for found in restore_many(network, draws, costs, beta=0.05)]
        [True, True]
    """
    chosen, target = make_method(method, agents, band_kind(band)), _target(costs, dispatch, band)
    problems = fidelity_problems(network, draws, target, beta, chosen, band, limits)
    for problem in problems[:1]:
        chosen.prepare(problem)
    started = time.perf_counter()
    with recorded_solves() as record:
        found = chosen.solve_many(problems, threads, progress)
    seconds = (time.perf_counter() - started) / max(len(found), 1)
    return [
        evaluate(
            problem,
            chosen.name,
            one,
            seconds if one.agents is None else one.agents.seconds,
            record.solvers,
        )
        for problem, one in zip(problems, found, strict=True)
    ]


def solve(method: FidelityMethod, problem: FidelityProblem) -> Restored:
    """Solve a problem that was checked, and recompute every figure of what was found."""
    method.prepare(problem)
    started = time.perf_counter()
    with recorded_solves() as record:
        found = method.solve(problem)
    seconds = time.perf_counter() - started
    return evaluate(problem, method.name, found, seconds, record.solvers)


def fidelity_problems(
    network: Network,
    draws: Sequence[NoisyLoads],
    target: ArrayLike,
    beta: float,
    method: FidelityMethod,
    band: BandKind | str,
    limits: LoadLimits | None = None,
) -> list[FidelityProblem]:
    """Return the problem of every draw, or refuse what cannot be solved.

    The target is what the band is around: costs O*_g in $/h, or outputs p*_g in p.u.; for all draws
    or, of shape (draws, generators), for each. Noisy loads are moved to the nearest within the
    limits, if there are any.
    """
    kind = check_choices(method, beta, band)
    targets = _targets(network, target, beta, kind, len(draws))
    problems = []
    for noisy, values in zip(draws, targets, strict=True):
        loads = _loads(network, noisy, limits)
        weights = metric_weights(noisy.guarantee, loads)
        problems.append(FidelityProblem(network, loads, values, float(beta), kind, weights, limits))
    return problems


def check_choices(method: FidelityMethod, beta: float, band: BandKind | str) -> BandKind:
    """Refuse what does not fit together, whatever the network and its costs."""
    kind = band_kind(band)
    method.check(kind)
    if not 0 <= beta < np.inf:
        raise GridveilError(f"beta: {beta} must be 0 or more; 0.01 keeps costs within 1 %")
    return kind


def check_target(network: Network, target: ArrayLike, beta: float, band: BandKind) -> FloatArray:
    """Return costs O*_g or outputs p*_g as an array, or refuse those that no dispatch can keep."""
    if band is BandKind.NONE:
        return np.zeros(0)
    try:
        values = np.asarray(target, dtype=float)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape != network.generators.p_min.shape or not np.isfinite(values).all():
        what = "costs" if band.on_costs else "dispatch"
        raise GridveilError(
            f"{what}: one finite number for each of the {len(network.generators)} generators needed"
        )
    check_has_costs(network, band)
    bands_of(network, values, beta, band)
    return values


def check_has_costs(network: Network, band: BandKind) -> None:
    """Refuse a band on costs for a network that has none."""
    if band.on_costs and not network.has_costs:
        raise GridveilError(
            f"band {band.value!r}: {network.name} has no generator costs. Give marginal costs "
            "(--costs FILE; with_marginal_costs in Python), or take the band dispatch or none"
        )


def _target(costs: ArrayLike | None, dispatch: ArrayLike | None, band: BandKind | str) -> ArrayLike:
    """Return what a band is around, or refuse what it says nothing of."""
    kind = band_kind(band)
    given = {"costs": costs, "dispatch": dispatch}
    needed = "costs" if kind.on_costs else "dispatch" if kind is BandKind.DISPATCH else ""
    for name, values in given.items():
        if (values is not None) != (name == needed):
            verb = "needs" if name == needed else "has no use for"
            raise GridveilError(f"band {kind.value!r} {verb} {name}")
    target = given.get(needed)
    return () if target is None else target


def _targets(
    network: Network, target: ArrayLike, beta: float, band: BandKind, draws: int
) -> list[FloatArray]:
    """Return what the band of each draw is around."""
    if np.ndim(target) < 2 or band is BandKind.NONE:
        return [check_target(network, target, beta, band)] * draws
    rows = list(np.asarray(target))
    if len(rows) != draws:
        what = "costs" if band.on_costs else "dispatch"
        raise GridveilError(f"{what}: {len(rows)} rows for {draws} draws")
    return [check_target(network, row, beta, band) for row in rows]


def _loads(network: Network, noisy: NoisyLoads, limits: LoadLimits | None) -> FloatArray:
    if noisy.p.shape != network.loads.p.shape:
        raise GridveilError(f"{len(noisy.p)} noisy loads for a network of {len(network.loads)}")
    if not (np.isfinite(noisy.p).all() and np.isfinite(noisy.q).all()):
        raise GridveilError("every noisy load must be a finite number")
    return nearest_loads_within(limits, np.stack([noisy.p, noisy.q], axis=1))
