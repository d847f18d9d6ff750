"""An interval for the optimal cost of the true network, from what is published alone.

The noise of the loads is redrawn at the released loads, and what it does to the cost is linearised
by the locational prices of the released network's AC-OPF. If θ is the true cost, θ̂ that of the
release and θ* that of a redrawn one, then θ̂/θ has about the distribution of θ*/θ̂, so that
[θ̂²/q₉₅, θ̂²/q₀₅] with the quantiles q of θ* holds θ with a probability of about 90 %.

It is approximate: what moved the loads to where the network works is left out. The redraws are a
computation with public numbers, by a seed of its own; they have nothing to do with the true noise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.opf.acopf import OPFResult
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.privacy.metric import Metric
from gridveil.privacy.total import moved_to_total
from gridveil.publication.post_processing import NO_POST_PROCESSING, PostProcessing

_QUANTILES = (0.05, 0.95)
_REDRAWS = 4000
_BLOCK = 1 << 22
"""Numbers that are held at once."""
_WIDEST = 3.0
"""An interval whose ends differ by more than this factor says too little to be published."""
_DIGITS = 4


@dataclass(frozen=True)
class LoadNoise:
    """What drew the noise of the loads and, if it was bought, of their total; what came after."""

    mechanism: Mechanism
    total: ProductLaplace | None
    post_processing: PostProcessing = NO_POST_PROCESSING

    def redraws(self, loads: FloatArray) -> Iterator[FloatArray]:
        """Yield simulated noise at loads in p.u., in blocks of shape (redraws, loads, 2)."""
        random = np.random.default_rng(0)
        at_once = max(1, _BLOCK // loads.size)
        for first in range(0, _REDRAWS, at_once):
            count = min(at_once, _REDRAWS - first)
            tiled = np.tile(loads, (count, 1))
            noise = (self.mechanism.simulate(tiled, random) - tiled).reshape(count, *loads.shape)
            if self.total is not None:
                of_total = self.total.simulate(np.zeros((count, 2)), random)
                noise = moved_to_total(noise, of_total, self.mechanism.noise_variance(), self.total)
            yield self._processed(loads, noise)

    def _processed(self, loads: FloatArray, noise: FloatArray) -> FloatArray:
        """Return what is left of the noise of redraws after post-processing."""
        if not self.post_processing.is_any:
            return noise
        return self.post_processing.applied(loads + noise, self.mechanism) - loads


def stated_interval(
    opf: OPFResult,
    parameters: Mapping[str, str],
    epsilon_costs: float,
    post_processing: PostProcessing = NO_POST_PROCESSING,
) -> tuple[float, float] | None:
    """Return the interval that follows from what a certificate states, so that anyone finds it.

    Args:
        opf: An AC-OPF of the released network.
        parameters: Those of the mechanism, as the certificate has them.
        epsilon_costs: What a private total took of ε.
        post_processing: What was done to the private loads.
    """
    noise = _noise(parameters, epsilon_costs, post_processing, len(opf.network.loads))
    return None if noise is None else cost_interval(opf, noise)


def _noise(
    parameters: Mapping[str, str],
    epsilon_costs: float,
    post_processing: PostProcessing,
    in_service: int,
) -> LoadNoise | None:
    """Return what drew the noise of the loads in service, if the parameters say all of it."""
    try:
        mechanism = MECHANISMS.get(parameters.get("mechanism", "")).from_parameters(parameters)
        if mechanism is None:
            return None
        if not epsilon_costs:
            return LoadNoise(mechanism.of_first(in_service), None, post_processing)
        promise = mechanism.guarantee()
        alpha = promise.largest_distance
        if alpha is None or promise.kind is not Metric.ABSOLUTE:
            return None
        total = ProductLaplace.of(epsilon_costs, alpha)
        return LoadNoise(mechanism.of_first(in_service), total, post_processing)
    except GridveilError:  # of parameters that no mechanism can have
        return None


def cost_interval(opf: OPFResult, noise: LoadNoise) -> tuple[float, float] | None:
    """Return an interval for the true optimal cost in $/h, or None where it would say too little.

    Args:
        opf: An AC-OPF of the released network.
        noise: What drew the noise of its loads.
    """
    network, cost = opf.network, opf.cost
    price = np.stack([opf.active_price, opf.reactive_price], axis=1)[network.loads.bus]
    price = price * network.base_mva
    changes = [np.tensordot(block, price, axes=2) for block in noise.redraws(network.loads.values)]
    low, high = np.quantile(cost + np.concatenate(changes), _QUANTILES).tolist()
    if not (cost > 0 and 0 < low <= high < _WIDEST * low):
        return None
    return _down(cost * cost / high), -_down(-cost * cost / low)


def _down(value: float) -> float:
    """Return a number rounded down to a few digits."""
    unit = 10.0 ** (np.floor(np.log10(abs(value))) - _DIGITS + 1)
    return float(f"{np.floor(value / unit) * unit:.{_DIGITS - 1}e}")
