from fractions import Fraction

import numpy as np
import pytest
from scipy.fft import dct

from gridveil.errors import GridveilError
from gridveil.privacy.series.basis import Basis


@pytest.mark.parametrize("length", [2, 24, 168])
def test_rows_are_the_cosine_transform_of_scipy(length):
    basis = Basis.even(length, tuple(range(length)))
    exact = dct(np.eye(length), axis=0, norm="ortho")
    assert np.abs(basis.directions - exact).max() <= 2**-17 * (1 + 1e-6)


@pytest.mark.parametrize("frequencies", [(0,), (3, 1), (0, 1, 2, 7)])
def test_hourly_shares_cover_what_rows_cost_and_add_up_to_one(frequencies):
    basis = Basis(24, frequencies, tuple(range(1, len(frequencies) + 1)))
    assert sum(basis.hourly_shares) == 1
    for t, share in enumerate(basis.hourly_shares):
        cost = sum(
            abs(int(row[t])) * rate for row, rate in zip(basis.rows, basis.rates, strict=True)
        )
        assert cost <= share <= cost + Fraction(1, 2**50)


def test_shares_are_what_each_coefficient_costs():
    basis = Basis(24, (0, 1), (3, 1))
    costs = [rate * int(norm) for rate, norm in zip(basis.rates, basis.norms, strict=True)]
    assert [float(cost) for cost in costs] == pytest.approx([0.75, 0.25], rel=1e-12)


def test_digests_tell_bases_apart():
    one, other = Basis.even(24, (0, 1)), Basis.even(24, (0, 2))
    assert one.digest == Basis.even(24, (0, 1)).digest != other.digest


@pytest.mark.parametrize(
    ("length", "frequencies", "shares"),
    [(24, (), ()), (2, (0, 1, 1), (1, 1, 1)), (24, (24,), (1,)), (24, (0,), (0,)), (24, (0,), ())],
)
def test_what_is_no_basis_is_refused(length, frequencies, shares):
    with pytest.raises(GridveilError, match="basis"):
        Basis(length, frequencies, shares)
