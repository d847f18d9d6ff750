"""P_BL, which the paper relaxed: the *optimal* cost of the restored network lies within β of O*.

Any dispatch within the band bounds the optimal cost C from above, so only "too cheap" can happen.
C is a function of the loads whose gradient is the locational prices. P_RBL is therefore solved with
cuts, C_k + prices_k·(S − S_k) ≥ (1 − β) O*, each taken at the last loads S_k, until the optimal
cost of the loads found is high enough. Where a cut cannot be kept, the solve comes as near to it as
it can, and the next cut starts from there.

Of earlier cuts, those are kept that promise too much at the new loads: C bends down there, and they
still say something true. Where C bends up, as it mostly does, the newest cut alone is enough, and
the others would cut off loads for no reason.

Where loads stand at the edge of what the network can do, prices jump and cuts from the noisy loads
run back and forth. After a few rounds the search therefore goes on in steps: the loads closest to
the *last* ones that keep the newest cut, with the lower ends of the bands raised by what the cost
still lacks, since a dearer dispatch mostly has a dearer optimum.

Once the cost is high enough, the cut is renewed at those loads, where it cuts off less, as long as
the distance falls noticeably. Distances are those of the metric of the promise (weights.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band
from gridveil.fidelity.base import (
    BandKind,
    CostGaps,
    FidelityMethod,
    FidelityProblem,
    Found,
)
from gridveil.fidelity.central import Attempt, bands_of, nearest_loads
from gridveil.fidelity.restoring_program import Cut
from gridveil.fidelity.weights import weighted_distance
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.status import Status

_SEARCHES = 100
"""Rounds in search of loads whose optimal cost is high enough; a handful is usual."""
_PATIENCE = 14
"""Rounds that start from the noisy loads, before the search goes on step by step."""
_OVERSHOOT = 0.2
"""How much more than what is lacking a step asks for."""
_IMPROVEMENTS = 8
"""Rounds in which their distance may then fall."""
_MARGIN = 1e-3
"""The share of β kept in reserve, so that rounding cannot take a cost out of its band."""
_WORTHWHILE = 0.01
"""The relative fall in distance that is worth another round."""


@dataclass(frozen=True)
class _Candidate:
    """Loads with a dispatch in the bands, and their optimal cost."""

    attempt: Attempt
    opf: OPFResult


@dataclass
class _Search:
    """The problem, and what has been spent on it."""

    problem: FidelityProblem
    raised: float = 0.0
    solves: int = 0
    iterations: int = 0
    last_opf: OPFResult | None = None
    """From where the next AC-OPF starts."""

    @property
    def least(self) -> float:
        return self._total - self._inner * abs(self._total)

    @property
    def most(self) -> float:
        return self._total + self.problem.beta * abs(self._total)

    @property
    def _total(self) -> float:
        return float(self.problem.target.sum())

    @property
    def _inner(self) -> float:
        return self.problem.beta * (1 - _MARGIN)

    @cached_property
    def bands(self) -> tuple[tuple[Band, ...], tuple[float, float] | None]:
        """The bands of the generators and of the total, as far as they have been raised."""
        return bands_of(
            self.problem.network, self.problem.target, self._inner, self.problem.band, self.raised
        )

    def raise_bands(self, cost: float) -> None:
        """Raise the lower ends of the bands by what an optimal cost lacks, up to O* itself."""
        lacking = (self.least - cost) / abs(self._total) if self._total else 0.0
        self.raised = min(self.raised + lacking, self._inner)
        del self.bands

    def nearest(
        self, target: FloatArray, cuts: Sequence[Cut] = (), start: Attempt | None = None
    ) -> Attempt:
        of = self.problem
        near = None if of.near is None else of.near.point
        attempt, solves, iterations = nearest_loads(
            of.network, target, *self.bands, cuts, start, of.weights, of.limits, near=near
        )
        self.solves, self.iterations = self.solves + solves, self.iterations + iterations
        return attempt

    def priced(self, attempt: Attempt) -> _Candidate | None:
        """Return the loads with their optimal cost, if both could be found."""
        if not attempt.status.solved:
            return None
        network = self.problem.network.with_loads(attempt.p, attempt.q)
        opf = solve_acopf(network, near=self.last_opf)
        self.last_opf = opf if opf.status.solved else self.last_opf
        self.solves, self.iterations = self.solves + 1, self.iterations + opf.iterations
        return _Candidate(attempt, opf) if opf.status.solved else None

    def keeps(self, candidate: _Candidate) -> bool:
        return self.least <= candidate.opf.cost <= self.most

    def distance(self, attempt: Attempt) -> float:
        """Return how far loads are from the noisy ones, in the metric of the promise."""
        return weighted_distance(attempt.loads, self.problem.noisy, self.problem.weights)

    def displacement(self, attempt: Attempt) -> float:
        """Return the same in the plain L2 norm, for the report."""
        return float(np.linalg.norm(attempt.loads - self.problem.noisy))

    def cut(self, candidate: _Candidate, overshoot: float = 0.0) -> Cut:
        """Return the half-space where prices promise the least cost, or somewhat more."""
        opf, attempt = candidate.opf, candidate.attempt
        wanted = self.least + overshoot * (self.least - opf.cost)
        active, reactive = (
            price[self.problem.network.loads.bus] * self.problem.network.base_mva
            for price in (opf.active_price, opf.reactive_price)
        )
        at = float(active @ attempt.p + reactive @ attempt.q)
        return Cut(active, reactive, wanted - opf.cost + at)

    def first(self, attempt: Attempt) -> _Candidate | None:
        """Cut until the optimal cost is high enough: from the noisy loads, then step by step."""
        cuts: list[Cut] = []
        dearest: _Candidate | None = None
        for tried in range(_SEARCHES):
            candidate = self.priced(attempt)
            if candidate is None or self.keeps(candidate):
                return candidate
            if dearest is None or candidate.opf.cost > dearest.opf.cost:
                dearest = candidate
            if tried < _PATIENCE:
                cost = candidate.opf.cost
                cuts = [c for c in cuts if self.least + c.excess(attempt.p, attempt.q) >= cost]
                cuts.append(self.cut(candidate))
                attempt = self.nearest(self.problem.noisy, cuts, attempt)
                continue
            if tried == _PATIENCE:
                candidate = dearest
            self.raise_bands(candidate.opf.cost)
            last = candidate.attempt
            attempt = self.nearest(last.loads, [self.cut(candidate, _OVERSHOOT)], last)
        return None

    def improved(self, best: _Candidate, enough: float) -> _Candidate:
        """Renew the cut at the best loads, and step back halfway where it promised too much."""
        target = self.problem.noisy
        for _ in range(_IMPROVEMENTS):
            before = self.distance(best.attempt)
            if before <= enough:
                break
            attempt = self.nearest(target, [self.cut(best)], best.attempt)
            candidate = self.priced(attempt)
            if candidate is None:
                break
            if self.keeps(candidate) and self.distance(attempt) < before:
                best, target = candidate, self.problem.noisy
                if self.distance(attempt) > (1 - _WORTHWHILE) * before:
                    break
            else:
                target = (best.attempt.loads + attempt.loads) / 2
        return best


class Bilevel(FidelityMethod):
    """P_BL: also the optimal cost of the restored network lies within β of O*."""

    name = "bilevel"

    def check(self, band: BandKind) -> None:
        """Refuse bands that say nothing of costs."""
        if not band.on_costs:
            raise GridveilError(
                "method bilevel keeps the optimal cost near O*, and the band "
                f"{band.value!r} says nothing of costs; take the method central or admm"
            )

    def solve(self, problem: FidelityProblem) -> Found:
        """Return the closest loads, or those of P_RBL with a status that says they do not do."""
        search = _Search(problem, last_opf=problem.near)
        bands, _ = search.bands
        relaxed = search.nearest(problem.noisy)
        first = search.first(relaxed)
        if first is None or not search.keeps(first):
            status = Status.ITERATION_LIMIT if relaxed.status.solved else relaxed.status
            p, q, point = relaxed.p, relaxed.q, relaxed.point
            return Found(status, p, q, point, bands, search.solves, search.iterations)
        best = search.improved(first, search.distance(relaxed) * (1 + _WORTHWHILE))
        extra = search.displacement(best.attempt) - search.displacement(relaxed)
        return Found(
            status=best.attempt.status,
            p=best.attempt.p,
            q=best.attempt.q,
            point=best.attempt.point,
            bands=bands,
            solves=search.solves,
            iterations=search.iterations,
            opf=best.opf,
            extra_displacement=extra,
        )

    @classmethod
    def kept_gap(cls, gaps: CostGaps, band: BandKind) -> float:
        """Return the gap of the optimal cost."""
        del band
        return abs(gaps.optimal)

    @classmethod
    def promise(cls, beta: float, band: BandKind) -> str:
        """Say what it promises about costs."""
        del band
        return f"running it at its cheapest comes within {beta:.3g} of the costs O*"
