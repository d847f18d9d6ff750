"""Limits only: the loads closest to the noisy ones with which the network works, at any cost."""

from gridveil.fidelity.bands import limit_bands
from gridveil.fidelity.base import BandKind, CostGaps, FidelityMethod, FidelityProblem, Found
from gridveil.fidelity.central import nearest_loads


class LimitsOnly(FidelityMethod):
    """Keeps every limit of the network; costs play no part."""

    name = "limits-only"

    def solve(self, problem: FidelityProblem) -> Found:
        """Return the closest loads, with generators free within their limits."""
        bands = limit_bands(problem.network.generators)
        found, solves, iterations = nearest_loads(
            problem.network,
            problem.noisy,
            bands,
            None,
            weights=problem.weights,
            limits=problem.limits,
        )
        return Found(found.status, found.p, found.q, found.point, bands, solves, iterations)

    @classmethod
    def kept_gap(cls, gaps: CostGaps, band: BandKind) -> float:
        """Return 0: whatever the costs are, nothing that was promised is broken."""
        return 0.0

    @classmethod
    def promise(cls, beta: float, band: BandKind) -> str:
        """Say that costs may be anything."""
        return "nothing is promised about costs"
