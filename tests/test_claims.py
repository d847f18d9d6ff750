"""Whether a number of a document is the one that was found."""

import math

import pytest

from gridveil.claims import number_claim


@pytest.mark.parametrize(
    ("claimed", "found", "ok"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.1, False),
        (1.0, math.inf, False),
        (1.0, -math.inf, False),
        (1.0, math.nan, False),
    ],
)
def test_a_number_holds_if_it_is_near(claimed, found, ok):
    assert number_claim("figure", claimed, found, 1e-9).ok is ok


def test_small_numbers_are_compared_relative_to_their_size():
    assert number_claim("figure", 1e-12, 1e-12 * (1 + 1e-12), 1e-9).ok
    assert not number_claim("figure", 1e-30, 1e-12, 1e-9).ok
    assert number_claim("figure", 1e-30, 1e-12, 1e-9, absolute=1e-9).ok
    assert number_claim("figure", 0.0, 0.0, 1e-9).ok
