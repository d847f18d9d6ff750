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
from gridveil.publication.costs import PublicCosts, private_costs
from gridveil.publication.post_processing import NO_POST_PROCESSING, PostProcessing


@dataclass(frozen=True, eq=False)
class Steps:
    """What was decided about a release, as far as its steps need it."""

    mechanism: Mechanism
    method: FidelityMethod
    band: BandKind
    beta: float
    costs: PublicCosts | None
    """The costs O*; None computes private ones."""
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
    ) -> tuple[PublicCosts, list[FidelityProblem]]:
        """Return the costs O*, and the problems of the fidelity phase in the order to try them.

        Private costs are those of loads that work, the bias of their noise taken out. So where
        nothing else is found from the private loads, it is from these.
        """
        done, costs = self.post_processing, self.costs
        target = done.applied_to(private, self.mechanism)
        targets = [target]
        if costs is None:
            loads = np.stack([target.p, target.q], axis=1)
            weights = metric_weights(target.guarantee, loads)
            unbiased = done.unbiased(loads, self.mechanism)
            found, near = private_costs(network, unbiased, self.cost_budget, weights, done.limits)
            costs = found.for_beta(self.beta)
            if not np.array_equal(near, unbiased):
                targets.append(replace(target, p=near[:, 0], q=near[:, 1]))
        problems = fidelity_problems(
            network, targets, costs.values, self.beta, self.method, self.band, done.limits
        )
        return costs, problems
