"""Restoring in the metric of a relative promise against restoring in the plain L2 norm.

Run: .venv/bin/python -m benchmarks.weighted_restoring [DRAWS [CASE ...]]   (about ten minutes)

The networks played no part in choosing weights and margins; those with __api and __sad are
stressed. Loads get simulated noise of 10 % of themselves, written down here independently of any
mechanism. They are restored by the default method, at the optimal costs of the true network and at
private costs, as a release makes them.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import write_table
from gridveil import GridveilError, Network, PolarLaplace, load_case, simulate_loads, solve_acopf
from gridveil.arrays import FloatArray
from gridveil.defaults import BAND, BETA, METHOD
from gridveil.fidelity.phase import fidelity_problems, solve
from gridveil.fidelity.projection import projected_loads
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.weights import metric_weights
from gridveil.opf.acopf import OPFResult
from gridveil.opf.nonlinear_program import Iteration
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import NoisyLoads

CASES = (
    "case24_ieee_rts", "case60_c", "case73_ieee_rts", "case89_pegase", "case162_ieee_dtc",
    "case179_goc", "case200_activ", "case240_pserc",
    "case24_ieee_rts__api", "case73_ieee_rts__api", "case89_pegase__api", "case162_ieee_dtc__api",
    "case179_goc__api", "case73_ieee_rts__sad",
)  # fmt: skip
DRAWS = 5
SHARE = 0.1
FLOOR_MVA = 1.0
LATER_MARGINS = (0.002, 0.0)
MOST_ITERATIONS = 500


@dataclass(frozen=True)
class Variant:
    """A way to restore."""

    costs: str
    norm: str
    margin: float | None = None
    """By which limits are tightened before private loads are projected."""

    @property
    def label(self) -> tuple[str, str, str]:
        """What the table says of it."""
        return self.costs, self.norm, "" if self.margin is None else f"{self.margin:.0%}"


VARIANTS = (
    Variant("true", "plain"),
    Variant("true", "weighted"),
    Variant("private", "plain", 0.02),
    Variant("private", "plain", 0.05),
    Variant("private", "weighted", 0.02),
    Variant("private", "weighted", 0.05),
)


@dataclass(frozen=True)
class Restoration:
    """The figures of one draw restored in one way."""

    is_moved: bool
    """Whether the noisy loads had no AC-OPF, and were projected for private costs."""
    errors: FloatArray
    """|Ŝ − S|/|S| of every load that is not 0."""
    negatives: float
    """The share of positive loads that became negative."""
    target_error: float
    """Of Σ O*, relative to the optimal cost of the true network."""
    cost_error: float
    """Of the optimal cost of the released network, likewise."""


def noisy_loads(network: Network, seed: int, norm: str) -> NoisyLoads:
    """Return loads with relative noise, and the promise that the norm belongs to."""
    random, (p, q) = np.random.default_rng(seed), network.loads.values.T
    floor = FLOOR_MVA / network.base_mva
    noisy_p = floor * np.sinh(np.arcsinh(p / floor) + random.laplace(0.0, SHARE, len(p)))
    ratio = np.arcsinh(q / np.hypot(p, floor)) + random.laplace(0.0, SHARE, len(p))
    noisy_q = np.hypot(noisy_p, floor) * np.sinh(ratio)
    drawn = simulate_loads(network, PolarLaplace.of(1, "0.1"), seed)
    guarantee = drawn.guarantee
    if norm == "weighted":
        guarantee = replace(guarantee, kind=Metric.RELATIVE, floor=floor)
    return replace(drawn, p=noisy_p, q=noisy_q, guarantee=guarantee)


def opf_near(network: Network, noisy: NoisyLoads, margin: float) -> OPFResult:
    """Return an AC-OPF of noisy loads or, where there is none, of the nearest within a margin."""
    loads = np.stack([noisy.p, noisy.q], axis=1)
    weights = metric_weights(noisy.guarantee, loads)
    result = solve_acopf(network.with_loads(*loads.T), watch=goes_on)
    for tried in (margin, *LATER_MARGINS):
        if result.status.solved:
            return result
        near = projected_loads(network, loads, tried, weights)
        if near.status.solved:
            nearer = network.with_loads(near.p, near.q)
            result = solve_acopf(nearer, start=near.point, watch=goes_on)
    if not result.status.solved:
        raise GridveilError("no working network was found near the private one")
    return result


def goes_on(iteration: Iteration) -> bool:
    """Whether an AC-OPF of loads that no limit may fit goes on."""
    return iteration.number < MOST_ITERATIONS


def run(case: str, seed: int, variant: Variant) -> Restoration | None:
    """Restore one draw in one way; None where nothing was found."""
    network = load_case(case)
    true = solve_acopf(network)
    noisy = noisy_loads(network, seed, variant.norm)
    try:
        targets, aim = [noisy], true
        if variant.margin is not None:
            aim = opf_near(network, noisy, variant.margin)
            loads = aim.network.loads
            if not (np.array_equal(loads.p, noisy.p) and np.array_equal(loads.q, noisy.q)):
                targets.append(replace(noisy, p=loads.p, q=loads.q))
        method = make_method(METHOD)
        problems = fidelity_problems(
            network, targets, aim.generator_costs, float(BETA), method, BAND
        )
        for problem in problems:
            restored = solve(method, problem)
            if restored.status.solved and restored.opf.status.solved:
                break
        else:
            return None
    except GridveilError:
        return None
    before, after = network.loads.values, restored.network.loads.values
    size, positive = np.hypot(*before.T), before[:, 0] > 0
    return Restoration(
        is_moved=len(targets) > 1,
        errors=(np.hypot(*(after - before).T)[size > 0] / size[size > 0]),
        negatives=float((after[positive, 0] < 0).mean()),
        target_error=aim.cost / true.cost - 1,
        cost_error=restored.opf.cost / true.cost - 1,
    )


def summary(case: str, variant: Variant, found: list[Restoration | None]) -> Iterator[object]:
    made = [one for one in found if one is not None]
    yield from (case, *variant.label, f"{len(made)} of {len(found)}")
    if not made:
        yield from ("",) * 6
        return
    errors = np.concatenate([one.errors for one in made])
    yield sum(one.is_moved for one in made) if variant.margin is not None else ""
    yield f"{np.median(errors):.1%}"
    yield f"{np.quantile(errors, 0.9):.1%}"
    yield f"{np.mean([one.negatives for one in made]):.2%}"
    for name in ("target_error", "cost_error"):
        values = np.array([getattr(one, name) for one in made])
        yield f"{np.sqrt(np.mean(values**2)):.2%} / {np.median(values):+.2%}"


def main(draws: int, cases: tuple[str, ...]) -> None:
    tasks = [
        (case, seed, variant) for case in cases for variant in VARIANTS for seed in range(draws)
    ]
    found = Parallel(n_jobs=2, batch_size=1, verbose=5)(delayed(run)(*task) for task in tasks)
    rows = [
        list(summary(case, variant, [
            one for (at, _, by), one in zip(tasks, found, strict=True)
            if (at, by) == (case, variant)
        ]))
        for case in cases for variant in VARIANTS
    ]  # fmt: skip
    write_table(
        "weighted_restoring",
        f"{draws} draws of simulated noise of {SHARE:.0%} relative to the loads (floor "
        f"{FLOOR_MVA:g} MVA) for each network, restored by `{METHOD}` at β = {BETA}. Costs O* are "
        "the optimal ones of the true network, or private: those of the noisy loads or, where "
        "these have no AC-OPF, of the nearest within limits tightened by the margin. `plain` "
        "minimises the L2 norm, `weighted` weighs each load by 1/(|S̃|² + x₀²). Load errors are "
        "|Ŝ − S|/|S| over all loads and draws; cost errors are relative to the optimal cost of the "
        "true network: root mean square / median.",
        ("case", "costs", "norm", "margin", "made", "projected", "load error, median",
         "nine of ten within", "positive loads turned negative", "error of O*",
         "error of the released network"),
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[0]) if arguments else DRAWS, tuple(arguments[1:]) or CASES)
