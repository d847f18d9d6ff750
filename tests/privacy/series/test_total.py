from fractions import Fraction

import numpy as np
import pytest

from gridveil import Ledger, load_case
from gridveil.network.series.shapes import example_series
from gridveil.privacy.ledger.records import BudgetExceededError
from gridveil.privacy.series.mechanism import series_mechanism
from gridveil.privacy.series.phase import privatise_series
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.total import (
    privatise_total_series,
    share_for_total,
    split,
    total_on_grid,
)

NETWORK = load_case("case5_pjm")
SERIES, RATINGS = example_series(NETWORK, hours=24, seed=1)
PROMISE = SeriesPromise.of("day", 1, "5%rating")
ALPHAS = tuple(rating / 20 / 100 for rating in RATINGS)
WHOLE = series_mechanism(PROMISE, NETWORK.base_mva, ALPHAS, SERIES.first_hour, 24)
OF_LOADS, OF_TOTAL = split(WHOLE, Fraction(1, 5))


def test_loads_and_total_together_cost_what_was_promised(tmp_path):
    ledger = Ledger(tmp_path / "l.sqlite")
    privatise_series(NETWORK, SERIES, OF_LOADS, ledger, "r")
    total = privatise_total_series(NETWORK, SERIES, OF_TOTAL, OF_LOADS, ledger, "r")
    assert {a.spent for a in ledger.accounts()} == {1}
    assert total == privatise_total_series(NETWORK, SERIES, OF_TOTAL, OF_LOADS, ledger, "r")
    assert total.coefficients.shape == OF_TOTAL.shape
    ledger.set_cap(1)
    with pytest.raises(BudgetExceededError):
        privatise_total_series(NETWORK, SERIES, OF_TOTAL, OF_LOADS, ledger, "s")
    assert ledger.inspect().problems == ()


def test_a_change_of_one_load_moves_the_total_by_no_more_steps():
    """At the edges of rounding; distances are those of the largest load."""
    random = np.random.default_rng(1)
    step = float(OF_TOTAL.steps[0])
    before = total_on_grid(SERIES, OF_TOTAL)
    for _ in range(30):
        p, q = SERIES.p.copy(), SERIES.q.copy()
        load, alpha = random.integers(3), float(max(ALPHAS))
        share = random.uniform(size=24)
        p[:, load] += share * alpha * random.choice([-1, 1], 24)
        q[:, load] += (1 - share) * alpha * random.choice([-1, 1], 24)
        moved = total_on_grid(type(SERIES)(SERIES.first_hour, p, q, SERIES.keys), OF_TOTAL)
        assert np.abs(moved - before).sum(axis=1).max() <= OF_TOTAL.distance_steps
    assert np.allclose(before[0, 0] * step, SERIES.p.sum(axis=1), atol=2 * step)


def test_the_private_total_is_that_of_the_loads_and_noise():
    hopeful = split(series_mechanism(SeriesPromise.of("day", 10**5, "5%rating"), NETWORK.base_mva,
                                     ALPHAS, SERIES.first_hour, 24), Fraction(1, 5))[1]  # fmt: skip
    drawn = hopeful.release(total_on_grid(SERIES, hopeful))
    measured = hopeful.measured(drawn)[0, 0, 0]
    assert np.allclose(
        measured, hopeful.basis.directions @ SERIES.p.sum(axis=1), rtol=1e-3, atol=0.01
    )


@pytest.mark.parametrize(("loads", "share"), [(83, 0), (84, Fraction(1, 5)), (1, 0)])
def test_a_total_is_bought_only_where_it_halves_the_noise(loads, share):
    assert share_for_total([Fraction(1, 3)] * loads) == share
    small = [Fraction(1, 1000)] * 1000
    assert share_for_total([Fraction(1, 3)] * loads + small) == share
