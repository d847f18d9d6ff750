"""What is declared public: raw loads in it are found before anything is drawn."""

import re

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.network.library import load_case
from gridveil.publication.explained import model_numbers
from gridveil.publication.scan.declared import kept_matches, rating_matches, refuse_declared

NETWORK = load_case("case14_ieee")
MODEL = tuple(model_numbers(NETWORK))
"""Its load at bus 3 is 94.2 + j19, of |S| = 96.097; that at bus 4 is 47.8 − j3.9."""
FINE = ["100.5", "123", "50.5", "21.1", "33.3", "44.4", "55.5", "10.1", "7.77", "28.8", "31.4"]


def ratings(**changed):
    return [changed.get(f"of_{i}", rating) for i, rating in enumerate(FINE)]


def test_kept_numbers_are_compared_with_raw_loads_and_their_sums():
    kept = "% none: 12.75 or 1.06, a limit\n% 94.2 of 259.0 \u00fc\nmpc.x = [\n\t0.478\t3;\n];\n"
    assert kept_matches(NETWORK, MODEL, kept) == [
        ("network.m: P of bus 3", " (line 2 of what is kept, column 3)"),
        ("network.m: sum of P", " (line 2 of what is kept, column 11)"),
        ("network.m: P of bus 4", " (line 4 of what is kept, column 2)"),
    ]


@pytest.mark.parametrize(
    ("rating", "what"),
    [
        ("94.2", "P"),
        ("94.20", "P"),
        ("0.942", "P"),
        ("94200", "P"),
        ("96.097", "|S|"),
        ("96.1", "|S|"),
        ("96.09703", "|S|"),
        ("96.2", None),
        ("96.0969", None),
        ("94", None),  # two digits tell nothing
        ("100", None),
        ("47.8", None),  # of bus 4
        ("259", None),  # the sum
        ("19.0", None),  # Q: nobody is rated by that
    ],
)
def test_a_rating_is_compared_with_its_own_load_alone(rating, what):
    names = [name for name, _ in rating_matches(NETWORK, ratings(of_1=rating))]
    assert names == ([] if what is None else [f"ratings: {what} of bus 3"])


def test_ratings_taken_from_loads_are_found_at_every_load_that_has_three_digits():
    p, q = NETWORK.loads.values.T * NETWORK.base_mva
    names = [name for name, _ in rating_matches(NETWORK, [f"{v:.4f}" for v in np.hypot(p, q)])]
    assert names == [f"ratings: |S| of bus {bus}" for bus in NETWORK.load_buses]


def test_ratings_of_three_digits_are_seldom_refused():
    """Compared with all loads and their sums, most of such sets of ratings were."""
    random = np.random.default_rng(1)
    sets = [[f"{v / 10:g}" for v in random.integers(101, 999, 11)] for _ in range(200)]
    assert sum(bool(rating_matches(NETWORK, one)) for one in sets) <= 10


def test_a_refusal_says_where_and_never_what_and_matches_are_accepted_by_name():
    kept, rated = "% 94.2\n", ratings(of_2="47.8")
    with pytest.raises(GridveilError) as caught:
        refuse_declared(NETWORK, MODEL, kept, rated)
    said = str(caught.value)
    assert "network.m: P of bus 3 (line 1 of what is kept" in said
    assert "ratings: P of bus 4" in said
    assert "Nothing was drawn or charged" in said
    assert "--accept-match 'network.m: P of bus 3'" in said
    assert not re.search(r"94\D?2|47\D8", said)
    names = ("network.m: P of bus 3", "ratings: P of bus 4")
    refuse_declared(NETWORK, MODEL, kept, rated, names)
    with pytest.raises(GridveilError, match="ratings: P of bus 4"):
        refuse_declared(NETWORK, MODEL, kept, rated, names[:1])
