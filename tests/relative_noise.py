"""Simulated noise relative to the loads, written down independently of any mechanism."""

from dataclasses import replace

import numpy as np

from gridveil import Network, PolarLaplace, simulate_loads
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import NoisyLoads

FLOOR = 0.0025
"""In p.u.: 0.25 MVA."""
RELATIVE = replace(
    PolarLaplace.of(1, "0.1").guarantee(), mechanism="relative", kind=Metric.RELATIVE, floor=FLOOR
)
"""The promise of a relative mechanism, as far as the fidelity phase reads it."""


def relative_loads(network: Network, seed: int, share: float = 0.1) -> NoisyLoads:
    """Return loads with noise of a share of themselves, and with a relative promise."""
    random, (p, q) = np.random.default_rng(seed), network.loads.values.T
    noisy_p = FLOOR * np.sinh(np.arcsinh(p / FLOOR) + random.laplace(0.0, share, len(p)))
    ratio = np.arcsinh(q / np.hypot(p, FLOOR)) + random.laplace(0.0, share, len(p))
    noisy_q = np.hypot(noisy_p, FLOOR) * np.sinh(ratio)
    drawn = simulate_loads(network, PolarLaplace.of(1, "0.1"), seed)
    return replace(drawn, p=noisy_p, q=noisy_q, guarantee=RELATIVE)


def loads_of(noisy: NoisyLoads) -> np.ndarray:
    """Return P and Q of noisy loads, of shape (loads, 2)."""
    return np.stack([noisy.p, noisy.q], axis=1)
