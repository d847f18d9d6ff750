"""From private loads to restored ones: the steps that a release and its forecast share.

Nothing here sees a raw load: networks are blank, and loads are private or simulated ones.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem
from gridveil.fidelity.phase import fidelity_problems
from gridveil.fidelity.weights import metric_weights
from gridveil.network.network import Network
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.total import moved_to_total
from gridveil.publication.choices import total_distance
from gridveil.publication.post_processing import NO_POST_PROCESSING, PostProcessing
from gridveil.publication.target_choice import private_target
from gridveil.publication.targets import Target


@dataclass(frozen=True, eq=False)
class Steps:
    """What was decided about a release, as far as its steps need it."""

    mechanism: Mechanism
    method: FidelityMethod
    band: BandKind
    beta: float
    target: Target | None
    """The costs O* or the dispatch p*; None computes what is private of them, if the band is around
    anything."""
    cost_budget: Fraction
    """The part of ε that buys a private total load; 0 buys none."""
    post_processing: PostProcessing = NO_POST_PROCESSING
    """What is done to the private loads before anything is computed from them."""

    @property
    def total_mechanism(self) -> ProductLaplace | None:
        """What draws the private total, if one is bought."""
        if not self.cost_budget:
            return None
        return ProductLaplace.of(self.cost_budget, total_distance(self.mechanism))

    def fitted(self, loads: FloatArray, total: FloatArray, bought: ProductLaplace) -> FloatArray:
        """Return private loads, of shape (..., loads, 2), moved to a bought total of (..., 2)."""
        return moved_to_total(loads, total, self.mechanism.noise_variance(), bought)

    def problems(
        self, network: Network, private: NoisyLoads
    ) -> tuple[Target | None, list[FidelityProblem]]:
        """Return costs or dispatch, and the problems of the fidelity phase in the order to try.

        Private costs, or a private dispatch, are those of loads that work, the bias of their noise
        taken out. So where nothing else is found from the private loads, it is from these. Their
        AC-OPF is where solves start; one of raw loads never is.
        """
        done, target = self.post_processing, self.target
        processed = done.applied_to(private, self.mechanism)
        draws, near = [processed], None
        if target is None and self.band is not BandKind.NONE:
            loads = np.stack([processed.p, processed.q], axis=1)
            weights = metric_weights(processed.guarantee, loads)
            unbiased = done.unbiased(loads, self.mechanism)
            found, near = private_target(
                network, self.band, unbiased, self.cost_budget, weights, done.limits
            )
            target, works = found.for_beta(self.beta, network), near.network.loads.values
            if not np.array_equal(works, unbiased):
                draws.append(replace(processed, p=works[:, 0], q=works[:, 1]))
        values = np.zeros(0) if target is None else target.for_fidelity(network.base_mva)
        problems = fidelity_problems(
            network, draws, values, self.beta, self.method, self.band, done.limits
        )
        return target, [replace(problem, near=near) for problem in problems]
