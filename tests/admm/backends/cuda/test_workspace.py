"""How much memory draws take on a GPU, which decides how many run at once."""

import numpy as np

from gridveil import Policy, load_case
from gridveil.admm.backends.cuda.workspace import (
    MOST_BLOCKS,
    bytes_for_all,
    bytes_per_draw,
    new_workspace,
)
from gridveil.admm.draw import make_draw
from gridveil.admm.initial_state import flat_state
from gridveil.admm.layout import build_layout
from gridveil.fidelity.bands import limit_bands


def test_the_memory_of_draws_is_that_of_all_arrays():
    network = load_case("case5_pjm")
    layout = build_layout(network, [band.intervals for band in limit_bands(network.generators)])
    draw, draws = make_draw(np.zeros(2 * len(network.loads))), 3
    state = flat_state(layout, draw.noisy, Policy.FAST)
    per_draw = sum(array.nbytes for array in (*draw, *state))
    together = (*layout, *new_workspace(layout, draws, MOST_BLOCKS))
    expected = draws * per_draw + sum(array.nbytes for array in together)
    assert bytes_for_all(layout) + draws * bytes_per_draw(layout) == expected
