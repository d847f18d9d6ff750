"""Simulated releases: the steps of a release with seeded noise. Not private, spends nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError, raised_where
from gridveil.fidelity.bands import largest_deviation
from gridveil.fidelity.base import BandKind, FidelityProblem
from gridveil.fidelity.phase import solve
from gridveil.fidelity.result import Restored
from gridveil.fidelity.weights import weighted_distance
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE
from gridveil.opf.status import Status
from gridveil.privacy.phase import NoisyLoads, Origin
from gridveil.publication.forecast.draws import simulated_private
from gridveil.publication.forecast.errors import LoadErrors
from gridveil.publication.forecast.statistics import Chance, Spread
from gridveil.publication.statements import keeps_beta
from gridveil.publication.steps import Steps


@dataclass(frozen=True, eq=False, repr=False)
class Basis(ArrayRecord):
    """What releases are simulated from: a blank network, loads, their optimal cost and dispatch."""

    network: Network
    loads: FloatArray
    """P and Q in p.u., of shape (loads, 2): the owner's own, or made up."""
    true_cost: float | None
    """None where the loads have no AC-OPF."""
    true_dispatch: FloatArray | None
    """Likewise, in p.u."""


@dataclass(frozen=True, eq=False, repr=False)
class Made(ArrayRecord):
    """What one simulated release came out with."""

    loads: FloatArray
    """P and Q of the restored loads in p.u., of shape (loads, 2)."""
    displacement: float
    weighted_displacement: float
    cost: float | None
    """The optimal cost of the released network, in $/h; None where the band is not on costs."""
    outputs: FloatArray
    """The released dispatch in p.u."""


@dataclass(frozen=True)
class Trial:
    """One simulated release: whether its noise alone works, and what was made, if anything."""

    is_feasible: bool
    made: Made | None


@dataclass(frozen=True)
class Restoring:
    """What restoring does to the loads and the cost, over simulated releases."""

    feasible: Chance
    """That the noisy loads alone have an AC-OPF."""
    released: Chance
    """That a release comes about at the first attempt."""
    displacement_pu: Spread | None
    """‖Ŝ − S̃‖₂, how far the loads are moved from the noisy ones."""
    weighted_displacement: Spread | None
    """The same in the metric of the promise."""
    errors: LoadErrors | None
    """How far the released loads are off the true ones."""
    cost_error: Spread | None
    """Of the released network's optimal cost, relative to the true one; None if there is none."""
    dispatch_error: Spread | None
    """The largest of a released output, as a share of the range, where the band is on a dispatch:
    against that of the true loads."""


def simulated_releases(
    steps: Steps,
    network: Network,
    loads: FloatArray,
    draws: int,
    seed: int,
    progress: Callable[[], None],
) -> Iterator[Trial]:
    """Yield simulated releases; equal seeds draw equal noise, whatever its scale.

    Args:
        steps: What was decided about the release.
        network: The network without loads, such as `blank` returns.
        loads: The loads to draw at in p.u., of shape (loads, 2).
        draws: How many releases.
        seed: Of the noise.
        progress: Called before each.
    """
    guarantee = steps.mechanism.guarantee()
    for i in range(draws):
        progress()
        random = np.random.default_rng((seed, i))
        p, q = simulated_private(steps, loads, 1, random)[0].T
        yield trial_of(steps, network, NoisyLoads(p, q, guarantee, Origin.SIMULATION, None))


def restoring_of(trials: Sequence[Trial], basis: Basis, band: BandKind) -> Restoring:
    """Return the figures of simulated releases, of costs or dispatch as the band is about them."""
    made = [trial.made for trial in trials if trial.made is not None]
    loads, base_mva, true = basis.loads, basis.network.base_mva, basis.true_cost
    costs = np.array([one.cost for one in made if one.cost is not None])
    gens, dispatch = basis.network.generators, basis.true_dispatch
    deviations = None
    if band is BandKind.DISPATCH and dispatch is not None:
        deviations = Spread.of([largest_deviation(gens, one.outputs, dispatch) for one in made])
    return Restoring(
        Chance.of(sum(trial.is_feasible for trial in trials), len(trials)),
        Chance.of(len(made), len(trials)),
        Spread.of([one.displacement for one in made]),
        Spread.of([one.weighted_displacement for one in made]),
        LoadErrors.of(loads, np.stack([one.loads for one in made]), base_mva) if made else None,
        Spread.of((costs - true) / abs(true)) if true and band.on_costs else None,
        deviations,
    )


def trial_of(steps: Steps, network: Network, noisy: NoisyLoads) -> Trial:
    """Restore noisy loads of a network without loads as a release does."""
    try:
        _, problems = steps.problems(network, noisy)
    except GridveilError:  # no working network near the private one
        return Trial(False, None)
    if steps.target is None and steps.band is not BandKind.NONE:
        is_feasible = len(problems) == 1
    else:
        is_feasible = solve_acopf(network.with_loads(noisy.p, noisy.q)).status.solved
    for problem in problems:
        restored = _solved(steps, problem)
        if restored is not None:
            return Trial(is_feasible, _made(restored, noisy, problems[0].weights))
    return Trial(is_feasible, None)


def _solved(steps: Steps, problem: FidelityProblem) -> Restored | None:
    """Return restored loads that could be certified; None where there are none.

    Of what a method of another package raises no word is passed on: it has seen loads whose noise
    a seed undoes.
    """
    try:
        restored = solve(steps.method, problem)
    except GridveilError:
        return None
    except Exception as error:  # whatever the code of another package raises
        what = raised_where(error)
    else:
        if restored.status is Status.STOPPED:
            raise KeyboardInterrupt  # what was cut off says nothing of a release
        return restored if _could_be_certified(restored, steps) else None
    raise GridveilError(f"method {steps.method.name!r} failed: {what}")


def _could_be_certified(restored: Restored, steps: Steps) -> bool:
    if not (restored.status.solved and restored.max_violation <= FEASIBILITY_TOLERANCE):
        return False
    if steps.band.on_costs and not restored.opf.status.solved:
        return False
    return keeps_beta(steps.method.kept_gap(restored.gaps(), steps.band), steps.beta)


def _made(restored: Restored, noisy: NoisyLoads, weights: FloatArray) -> Made:
    """Return the figures of a release; its loads are compared with the noisy ones it came from."""
    loads, drawn = restored.network.loads.values, np.stack([noisy.p, noisy.q], axis=1)
    return Made(
        loads,
        float(np.linalg.norm(loads - drawn)),
        weighted_distance(loads, drawn, weights),
        restored.opf.cost if restored.band.on_costs else None,
        restored.point.p,
    )
