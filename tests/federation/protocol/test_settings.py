"""Members compare a digest of their settings, which stays the same for the same settings."""

import pytest
from pydantic import ValidationError

from gridveil.federation.protocol.settings import Run

SPRING = {"id": "spring", "parties": ("north", "south"), "epsilon": "1", "alpha": "0.1"}


@pytest.mark.parametrize(
    ("changes", "digest"),
    [
        ({}, "02e73dbcdb91884fc5fa12d8b44b20f0"),
        ({"mechanism": "product-laplace", "policy": "paper"}, "03ff6f10707d415989480f754d68b128"),
        ({"patience": 5.0}, "02e73dbcdb91884fc5fa12d8b44b20f0"),
    ],
)
def test_the_digest_stays_as_it_is(changes, digest):
    assert Run(**{**SPRING, "beta": 0.01, **changes}).digest().hex() == digest


def test_a_mechanism_may_be_of_another_package():
    assert Run(**SPRING, beta=0.01, mechanism="staircase").mechanism == "staircase"


@pytest.mark.parametrize("changes", [{"epsilon": ""}, {"beta": -1.0}, {"max_iterations": 0}])
def test_impossible_settings_are_refused(changes):
    with pytest.raises(ValidationError, match=next(iter(changes))):
        Run(**{**SPRING, "beta": 0.01, **changes})


@pytest.mark.parametrize(
    ("iteration", "policy", "end"),
    [(1, "fast", 10), (10, "fast", 10), (11, "fast", 20), (34, "fast", 35), (7, "paper", 7)],
)
def test_the_end_of_a_window(iteration, policy, end):
    run = Run(**SPRING, beta=0.01, max_iterations=35, policy=policy)
    assert run.window_end(iteration) == end
