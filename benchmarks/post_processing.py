"""Post-processing of private loads: consumers, power factors, and the bias of the mean.

Run: .venv/bin/python -m benchmarks.post_processing [DRAWS [CASE ...]]   (minutes on two cores)

Simulated noise, post-processed, restored at private costs as a release does it. Consumers are all
loads whose declaration is true: P ≥ 0 and, where one is declared, a power factor of 0.8 or more.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import write_table
from gridveil import (
    GridveilError,
    LoadLimits,
    Mechanism,
    Network,
    ProductLaplace,
    RelativeLaplace,
    load_case,
    simulate_loads,
    solve_acopf,
)
from gridveil.arrays import FloatArray
from gridveil.defaults import BAND, BETA, METHOD
from gridveil.fidelity.phase import fidelity_problems, solve
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.result import Restored
from gridveil.fidelity.weights import metric_weights
from gridveil.privacy.phase import NoisyLoads
from gridveil.publication.case_file import blank
from gridveil.publication.costs import private_costs
from gridveil.publication.post_processing import PostProcessing
from gridveil.publication.true_cost import LoadNoise, cost_interval

CASES = ("case14_ieee", "case30_ieee", "case57_ieee", "case118_ieee")
DRAWS = 10
POWER_FACTOR = 0.8


@dataclass(frozen=True)
class Variant:
    """A promise, and what is done to the private loads."""

    mechanism: Mechanism
    has_consumers: bool = False
    power_factor: float | None = None
    corrects_bias: bool = False

    @property
    def label(self) -> tuple[str, str]:
        """What the table says of it."""
        of = "10 %" if isinstance(self.mechanism, RelativeLaplace) else "10 MVA"
        done = (
            ("bias", self.corrects_bias),
            ("P ≥ 0", self.has_consumers),
            (f"power factor ≥ {POWER_FACTOR:g}", self.power_factor is not None),
        )
        return of, ", ".join(name for name, is_done in done if is_done) or "none"

    def post_processing(self, network: Network) -> PostProcessing:
        """Return the same for a network, whose declarations are true."""
        if not self.has_consumers:
            return PostProcessing(None, self.corrects_bias)
        p, q = network.loads.values.T
        least = 0.0 if self.power_factor is None else self.power_factor
        are_consumers = (p >= 0) & (p >= least * np.hypot(p, q))
        return PostProcessing(LoadLimits(are_consumers, self.power_factor), self.corrects_bias)


RELATIVE, ABSOLUTE = RelativeLaplace.of(1, "0.1"), ProductLaplace.of(1, "0.1")
VARIANTS = (
    Variant(RELATIVE),
    Variant(RELATIVE, corrects_bias=True),
    Variant(RELATIVE, True, POWER_FACTOR, corrects_bias=True),
    Variant(ABSOLUTE),
    Variant(ABSOLUTE, True),
    Variant(ABSOLUTE, True, POWER_FACTOR),
)


@dataclass(frozen=True)
class Draw:
    """The figures of one draw, post-processed and restored."""

    negatives_before: float
    """Of private loads, the share that came out negative although the load is positive."""
    negatives_after: float
    """The same of the released loads."""
    errors: FloatArray
    """|Ŝ − S|/|S| of every load that is not 0."""
    private_total: float
    """Error of ΣP of the private loads after post-processing, relative to ΣP."""
    released_total: float
    cost: float
    """Error of the optimal cost of the released network, relative to that of the true one."""
    holds: bool | None
    """Whether the published interval holds the true cost; None where none is published."""


def restored_as_released(
    network: Network, noisy: NoisyLoads, done: PostProcessing, mechanism: Mechanism
) -> tuple[FloatArray, Restored]:
    """Return the private loads after post-processing, and what is released of them."""
    private = done.applied_to(noisy, mechanism)
    loads = np.stack([private.p, private.q], axis=1)
    weights = metric_weights(private.guarantee, loads)
    costs, near = private_costs(network, loads, 0, weights, done.limits)
    method, aims = make_method(METHOD), costs.for_beta(float(BETA), network).values
    targets = [private]
    if not np.array_equal(near, loads):
        targets.append(replace(private, p=near[:, 0], q=near[:, 1]))
    for problem in fidelity_problems(
        network, targets, aims, float(BETA), method, BAND, done.limits
    ):
        restored = solve(method, problem)
        if restored.status.solved and restored.opf.status.solved:
            return loads, restored
    raise GridveilError("nothing was found")


def run(case: str, seed: int, variant: Variant) -> Draw | None:
    """Release one draw; None where nothing was found."""
    network, mechanism = load_case(case), variant.mechanism
    true, done = solve_acopf(network), variant.post_processing(network)
    noisy = simulate_loads(network, mechanism, seed)
    try:
        private, restored = restored_as_released(blank(network), noisy, done, mechanism)
    except GridveilError:
        return None
    before, after = network.loads.values, restored.network.loads.values
    size, positive, total = np.hypot(*before.T), before[:, 0] > 0, before[:, 0].sum()
    interval = cost_interval(restored.opf, LoadNoise(mechanism, None, done))
    return Draw(
        negatives_before=float((noisy.p[positive] < 0).mean()),
        negatives_after=float((after[positive, 0] < 0).mean()),
        errors=np.hypot(*(after - before).T)[size > 0] / size[size > 0],
        private_total=private[:, 0].sum() / total - 1,
        released_total=after[:, 0].sum() / total - 1,
        cost=restored.opf.cost / true.cost - 1,
        holds=None if interval is None else interval[0] <= true.cost <= interval[1],
    )


def summary(case: str, variant: Variant, found: list[Draw | None]) -> Iterator[object]:
    """Give the row of a case and a variant."""
    made = [one for one in found if one is not None]
    yield from (case, *variant.label, f"{len(made)} of {len(found)}")
    for name in ("negatives_before", "negatives_after"):
        yield f"{np.mean([getattr(one, name) for one in made]):.1%}"
    yield f"{np.median(np.concatenate([one.errors for one in made])):.1%}"
    for name in ("private_total", "released_total", "cost"):
        values = np.array([getattr(one, name) for one in made])
        yield f"{values.mean():+.1%} / {np.sqrt(np.mean(values**2)):.1%}"
    held = [one.holds for one in made if one.holds is not None]
    yield f"{sum(held)} of {len(held)}"


def main(draws: int, cases: tuple[str, ...]) -> None:
    """Run all draws and write the table."""
    tasks = [
        (case, seed, variant) for case in cases for variant in VARIANTS for seed in range(draws)
    ]
    found = Parallel(n_jobs=2, batch_size=1, verbose=5)(delayed(run)(*task) for task in tasks)
    rows = [
        list(summary(case, variant, [
            one for (at, _, by), one in zip(tasks, found, strict=True)
            if at == case and by is variant
        ]))
        for case in cases for variant in VARIANTS
    ]  # fmt: skip
    write_table(
        "post_processing",
        f"{draws} draws of simulated noise at ε = 1 for each network, post-processed, and restored "
        f"by `{METHOD}` at β = {BETA} and private costs. Consumers are all loads of which P ≥ 0 "
        f"and, where declared, a power factor of {POWER_FACTOR:g} or more are true. Negative loads "
        "are those of positive ones, before post-processing and as released. Load errors are "
        "|Ŝ − S|/|S| over all loads and draws. Errors of totals ΣP and of the optimal cost are "
        "relative to the true ones: mean / root mean square. The last column counts the "
        "published 90 % intervals that hold the true cost.",
        ("case", "hidden", "post-processing", "made", "negative before", "negative as released",
         "load error, median", "total of private loads", "total as released", "optimal cost",
         "intervals that hold"),
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[0]) if arguments else DRAWS, tuple(arguments[1:]) or CASES)
