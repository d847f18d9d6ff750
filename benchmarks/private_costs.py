"""How far private costs are off the true ones, and how often the published interval holds.

Run: .venv/bin/python -m benchmarks.private_costs             (about 40 minutes on two cores)
     .venv/bin/python -m benchmarks.private_costs relative    (about 10: noise of 10 % of each load)

Each release is a whole one with noise of its own from the operating system, as an owner makes it:
private costs (the default), the bought costs of version 0.2 made from the same building blocks, and
costs derived from the raw loads. The true optimal cost is that of the raw network.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import write_table
from gridveil import (
    GridveilError,
    Ledger,
    Network,
    PolarLaplace,
    load_case,
    privatise,
    release,
    restore,
    solve_acopf,
)
from gridveil.defaults import ALPHA, BETA
from gridveil.fidelity.projection import projected_loads
from gridveil.privacy.total import privatise_total
from gridveil.publication.case_file import blank

CASES = ("case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
RELEASES = 40
Promise = tuple[str, Mapping[str, str]]
"""What is hidden, in words and as arguments of `release`."""
ABSOLUTE: tuple[Promise, ...] = (
    ("0.01 p.u.", {"alpha": "0.01"}),
    (f"{ALPHA} p.u.", {"alpha": ALPHA}),
)
RELATIVE: tuple[Promise, ...] = (("10 %", {"hide": "10%"}),)
Interval = tuple[float, float] | None
Made = tuple[float, float, Interval]
"""O* and the optimal cost of the released network in $/h, and the interval of its certificate."""


def private(network: Network, ledger: Ledger, hidden: Mapping[str, str]) -> Made:
    return _released(release(network, ledger, **hidden))


def derived(network: Network, ledger: Ledger, hidden: Mapping[str, str]) -> Made:
    return _released(release(network, ledger, costs="derived", declare_public="costs", **hidden))


def bought(network: Network, ledger: Ledger, hidden: Mapping[str, str]) -> Made:
    """Restore at costs of loads moved to a bought total alone, as 0.2 did with a share of 0.2."""
    alpha = hidden["alpha"]
    noisy = privatise(network, PolarLaplace.of("0.8", alpha), ledger, "one")
    total = privatise_total(network, "0.2", alpha, ledger, "one")
    loads = np.stack([noisy.p, noisy.q], axis=1)
    loads += (np.array([total.p, total.q]) - loads.sum(axis=0)) / len(loads)
    public = blank(network)
    near = projected_loads(public, loads, 0.0)
    costs = solve_acopf(public.with_loads(near.p, near.q))
    if not costs.status.solved:
        raise GridveilError("the projected network has no AC-OPF")
    restored = restore(public, noisy, costs.generator_costs, float(BETA))
    found = solve_acopf(restored.network)
    if not (restored.status.solved and found.status.solved):
        raise GridveilError("nothing was found at these costs")
    return costs.cost, found.cost, None


def _released(made) -> Made:
    stated = made.certificate
    interval = stated.costs.true_cost
    ends = None if interval is None else (interval.low, interval.high)
    return stated.fidelity.cost_target, stated.fidelity.cost_optimal, ends


MODES: dict[str, Callable[[Network, Ledger, Mapping[str, str]], Made]] = {
    "private": private, "bought (0.2)": bought, "derived": derived,
}  # fmt: skip


def run(case: str, promise: Promise, mode: str) -> Made | None:
    """Return the figures of one release of its own noise and ledger; None where it failed."""
    network = load_case(case)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return MODES[mode](network, Ledger(Path(folder) / "ledger.sqlite"), promise[1])
        except GridveilError:
            return None


def summary(case: str, promise: Promise, mode: str, made: list[Made | None]) -> Iterator[object]:
    true = solve_acopf(load_case(case)).cost
    found = [one for one in made if one is not None]
    target, optimal = (np.array([one[i] for one in found]) / true - 1 for i in (0, 1))
    intervals = [one[2] for one in found if one[2] is not None]
    yield from (case, promise[0], mode, f"{len(found)} of {len(made)}")
    for errors in (target, optimal):
        yield f"{np.sqrt(np.mean(errors**2)):.2%} / {np.median(np.abs(errors)):.2%}"
    if mode != "private":
        yield from ("", "", "")
        return
    holding = sum(low <= true <= high for low, high in intervals)
    widths = [high / low for low, high in intervals]
    yield f"{len(intervals)} of {len(found)}"
    yield f"{holding / len(intervals):.0%}" if intervals else "none published"
    yield f"{np.median(widths):.2f}" if intervals else ""


def main(kind: str) -> None:
    relative = kind == "relative"
    modes = [mode for mode in MODES if not (relative and mode == "bought (0.2)")]
    settings = [
        (case, promise, mode)
        for case in CASES
        for promise in (RELATIVE if relative else ABSOLUTE)
        for mode in modes
    ]
    tasks = [one for one in settings for _ in range(RELEASES)]
    made = Parallel(n_jobs=2, batch_size=1, verbose=5)(delayed(run)(*task) for task in tasks)
    rows = [
        list(summary(*one, made[i * RELEASES : (i + 1) * RELEASES]))
        for i, one in enumerate(settings)
    ]
    write_table(
        "private_costs_relative" if relative else "private_costs",
        f"{RELEASES} releases of each kind at ε = 1, β = {BETA}, each with noise of its own from "
        "the operating system. Errors are relative to the optimal cost of the true network: root "
        "mean square / median. The interval stands in the certificate, for a nominal 90 %; it is "
        "left out where its ends differ by more than a factor of three. `derived` costs are not "
        "protected."
        + ("" if relative else " `bought (0.2)` is how 0.2 bought costs with a fifth of ε."),
        ("case", "hidden", "costs", "made", "error of O*", "error of the released network",
         "intervals published", "holding the true cost", "width, high / low"),
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "absolute")
