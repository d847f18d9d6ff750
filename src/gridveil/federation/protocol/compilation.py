"""Compiles the agents of a party and the coordinator's rules before others wait for them."""

from collections.abc import Callable

import numpy as np

from gridveil.admm.compiled import DISTRIBUTED
from gridveil.admm.distributed import compile_distributed
from gridveil.admm.draw import make_draw
from gridveil.admm.initial_state import flat_state
from gridveil.admm.layout import build_layout
from gridveil.admm.policy import Policy
from gridveil.fidelity.bands import limit_bands
from gridveil.network.library import load_case

_ANY_CASE = "case3_lmbd"
"""The compiled code is the same for all networks."""


def compile_agents(log: Callable[[str], None]) -> None:
    """Compile what members need, or take it from the cache; log a line if it takes a while."""
    if not DISTRIBUTED.is_ready:
        log("compiling the agents, once for this version: about 20 seconds …")
    network = load_case(_ANY_CASE)
    layout = build_layout(network, [band.intervals for band in limit_bands(network.generators)])
    draw = make_draw(np.zeros(2 * len(network.loads)))
    compile_distributed(layout, draw, flat_state(layout, draw.noisy, Policy.FAST))
