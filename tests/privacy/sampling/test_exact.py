"""The exact choices: right on average, and right where doubles cannot tell."""

from decimal import Context, Decimal

import numpy as np
import pytest
from scipy import stats

from gridveil.privacy.sampling import exact

DRAWS = 20_000


@pytest.mark.parametrize("margin", [exact.MARGIN, 1.0])
def test_bernoulli_has_its_probability(margin):
    """With a margin of 1, every choice is made by the exact path."""

    def third(_: int, context: Context) -> Decimal:
        return context.divide(Decimal(1), Decimal(3))

    chosen = exact.bernoulli(np.full(DRAWS, 1 / 3), third, margin)
    assert stats.binomtest(int(chosen.sum()), DRAWS, 1 / 3).pvalue > 1e-6


def test_a_tie_is_broken_by_more_digits(monkeypatch):
    """The first 53 bits of a uniform number equal those of 1/3; the rest decides, both ways."""
    first = (1 << 53) // 3

    def third(_: int, context: Context) -> Decimal:
        return context.divide(Decimal(1), Decimal(3))

    monkeypatch.setattr(exact.secrets, "randbits", lambda bits: 0)
    assert exact._decide(first, 0, third)
    monkeypatch.setattr(exact.secrets, "randbits", lambda bits: (1 << bits) - 1)
    assert not exact._decide(first, 0, third)


def test_precision_grows_until_it_is_decided(monkeypatch):
    digits = []

    def third(_: int, context: Context) -> Decimal:
        digits.append(context.prec)
        return context.divide(Decimal(1), Decimal(3))

    stream = iter(format((1 << 2000) // 3, "b").zfill(2000)[53:])

    def next_bits(bits: int) -> int:
        """Follow the binary digits of 1/3 for 300 bits, then leave them."""
        return int("".join(next(stream) for _ in range(bits)), 2) if len(digits) < 3 else 0

    monkeypatch.setattr(exact.secrets, "randbits", next_bits)
    assert exact._decide((1 << 53) // 3, 0, third)
    assert digits == [40, 80, 160]


def test_uniform_below_is_uniform():
    draws = exact.uniform_below(np.full(DRAWS, 7))
    assert stats.chisquare(np.bincount(draws, minlength=7)).pvalue > 1e-6
    assert draws.max() == 6


@pytest.mark.parametrize("count", [0, 1, 9_999, 40_001])
def test_discrete_laplace_has_its_distribution_on_any_number_of_threads(count):
    scale, last = 3.0, 20
    draws = exact.discrete_laplace(count, scale)
    assert (draws.shape, draws.dtype) == ((count,), np.dtype(np.int64))
    if count > last:
        values = np.arange(-last, last + 1)
        weights = np.tanh(1 / (2 * scale)) * np.exp(-np.abs(values) / scale)
        weights[[0, -1]] /= 1 - np.exp(-1 / scale)  # and all beyond
        found = np.bincount(np.clip(draws, -last, last) + last, minlength=len(values))
        assert stats.chisquare(found, weights * count).pvalue > 1e-6


def test_threads_have_noise_of_their_own():
    half = 20_000
    draws = exact.discrete_laplace(2 * half, 1e6)
    assert np.mean(draws[:half] == draws[half:]) < 0.01
