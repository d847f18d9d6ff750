"""Noise on logarithms, for every quantity: steps, loss, distribution, the game, refusals.

Rows are the hard cases of an encoding: zeros, a negative reactance, a tiny impedance, identical
parallel circuits, limits that are infinite or below 0.
"""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from gridveil import QUANTITIES, GridveilError, LogLaplace, ProtectedQuantity, protect
from gridveil.privacy.audit.game import flip_coins
from gridveil.privacy.audit.likelihood import by_likelihood
from gridveil.privacy.quantities.base import is_protected
from tests.privacy.mechanisms.test_relative_laplace import bands_fit

KINDS = QUANTITIES.names
HARD = {
    "impedances": [
        [0.01, 0.1, 0.02],
        [0.0, 0.1, 0.0],
        [0.001, -0.05, 0.0],
        [1e-9, 2e-9, 5e-324],
        [1e250, 0.3, -1e-300],
    ],
    "ratings": [[4.0], [1e-6], [1e4], [np.inf], [3.0000000000000004]],
    "costs": [[0.0, 1400.0, 0.0], [430.0, 2000.0, 0.0], [-2.0, 1e-8, 5e5], [0, 0, 0], [1, 1, 1]],
    "limits": [
        [0.0, 4.0, -3.0, 3.0],
        [0.5, 0.5, 0.0, 0.0],
        [-1.0, 1.0, -np.inf, np.inf],
        [1e-7, 99.99, 0.1, 10.0],
        [-2.0, -0.5, -0.1, -0.01],
    ],
}
DIGITS = Context(prec=60)


def hard(kind):
    return np.array(HARD[kind], dtype=float)


def exact_distance(one, other):
    """Return Σ |Δ ln|v|| in 60 digits."""
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    logarithms = [
        (DIGITS.ln(Decimal(abs(a))), DIGITS.ln(Decimal(abs(b)))) for a, b in pairs if is_one(a)
    ]
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in logarithms), Fraction(0))


def is_one(value):
    return bool(is_protected(np.array(value)))


def beside_edges(mechanism, values, rng):
    """Return pairs of elements about a apart, with as many coordinates beside an edge as can be."""
    step, a = float(mechanism.step), float(mechanism.calibration.alpha)
    values = values[np.abs(np.log(np.where(is_protected(values), np.abs(values), 1))).max(1) < 100]
    for row in values[is_protected(values).any(axis=1)]:
        which = is_protected(row)
        for _ in range(20):
            shares = rng.dirichlet(np.ones(which.sum())) * rng.choice([-1, 1], which.sum())
            one, other = row.copy(), row.copy()
            whole = np.rint(np.log(np.abs(row[which])) / step)
            ends = whole + np.sign(shares) * 0.4999999, whole + np.rint(shares * a / step)
            for element, at in zip((one, other), ends, strict=True):
                element[which] = np.sign(row[which]) * np.exp(at * step)
            beyond = np.exp(np.sign(shares) * 0.5000001 * step)
            other[which] *= beyond
            yield one, other


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_at_the_edges_of_rounding_are_at_most_a_step_a_coordinate_more_apart(kind):
    mechanism, most, worst = protect(kind, 1, "10%"), 0.0, Fraction(-9)
    a = mechanism.calibration.alpha
    for one, other in beside_edges(mechanism, hard(kind), np.random.default_rng(2)):
        k, far = mechanism.to_grid(one[None]), mechanism.to_grid(other[None])
        apart, steps = exact_distance(one, other), int(np.abs(k - far).sum())
        assert steps <= apart / mechanism.step + is_protected(one).sum()
        worst = max(worst, steps - apart / mechanism.step)
        outputs = np.vstack([k, far, 2 * k - far, 2 * far - k])
        loss = float(np.abs(mechanism.loss(outputs, k, far)).max())
        assert loss <= float(max(Fraction(1), apart / a)) * (1 + 1e-12)
        most = max(most, loss)
    assert worst > 0.9 if kind == "ratings" else worst > 0, "the pairs are hard ones"
    assert most > 0.99


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_public_stays_and_everything_else_gets_noise(kind):
    mechanism, values = protect(kind, 1, "10%"), hard(kind)
    protected = is_protected(values)
    steps = mechanism.release(mechanism.to_grid(values), values)
    private = mechanism.from_grid(steps, values)
    assert (private[~protected] == values[~protected]).all()
    assert (np.sign(private) == np.sign(values)).all()
    assert np.isfinite(private[protected]).all()
    assert (steps[~protected] == 0).all()
    assert (private[protected] != values[protected]).mean() > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", range(5))
def test_released_steps_follow_the_distribution(kind, row):
    """χ² of the noise on every coordinate against the exact probabilities."""
    mechanism, values = protect(kind, 1, "10%"), hard(kind)[[row]]
    many = np.tile(values, (1200, 1))
    noise = mechanism.release(mechanism.to_grid(many), many) - mechanism.to_grid(values)
    for coordinate in np.flatnonzero(is_protected(values[0])):
        assert bands_fit(noise[:, coordinate], mechanism.scale) > 1e-6


def test_the_fit_finds_noise_that_is_a_tenth_too_small():
    mechanism, values = protect("ratings", 1, "10%"), np.full((20_000, 1), 4.0)
    noise = mechanism.release(mechanism.to_grid(values), values) - mechanism.to_grid(values[:1])
    assert bands_fit(noise[:, 0], 1.15 * mechanism.scale) < 1e-6


@pytest.mark.parametrize(
    ("kind", "row", "shares", "least"),
    [
        ("impedances", 0, (1 / 3, 1 / 3, 1 / 3), 0.6),
        ("impedances", 1, (0, -1, 0), 0.75),
        ("impedances", 2, (0, 1, 0), 0.75),
        ("impedances", 3, (1, 0, 0), 0.75),
        ("ratings", 1, (1,), 0.75),
        ("costs", 1, (0.5, -0.5, 0), 0.65),
        ("limits", 4, (0.25, -0.25, 0.25, -0.25), 0.5),
        ("limits", 2, (0, 1, 0, 0), 0.75),
    ],
)
def test_the_game_finds_the_claim_and_no_more(kind, row, shares, least):
    """The audit's game and its best player, on pairs at the distance of the promise."""
    mechanism, one = protect(kind, 1, "10%"), hard(kind)[row]
    other = one * np.exp(float(mechanism.calibration.alpha) * np.array(shares))
    assert exact_distance(one, other) == pytest.approx(float(mechanism.calibration.alpha), rel=1e-9)
    assert least <= played(mechanism, mechanism, one, other) <= 1.0


def test_the_game_finds_noise_that_is_too_small():
    honest, weak = protect("impedances", 1, "10%"), protect("impedances", "1.6", "10%")
    one = hard("impedances")[0]
    other = one * np.exp(float(honest.calibration.alpha) / 3)
    assert played(honest, weak, one, other) > 1.1


def played(claimed, played_mechanism, one, other, trials=12_000):
    coins = flip_coins(trials)
    k, far = (claimed.to_grid(element[None]) for element in (one, other))
    outputs = played_mechanism.release(np.where(coins[:, None], k, far), np.tile(one, (trials, 1)))
    loss = played_mechanism.loss(outputs, k, far)
    return by_likelihood(loss, coins, 1.6, 1e-6).bound


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_noise_has_the_scale_of_the_exact_one(kind):
    mechanism, values = protect(kind, 1, "10%"), np.tile(hard(kind)[:1], (20_000, 1))
    noisy = mechanism.simulate(values, np.random.default_rng(4))
    protected = is_protected(values)
    spread = np.abs(np.log(noisy[protected] / values[protected])).mean()
    assert spread == pytest.approx(mechanism.guarantee().scale, rel=0.03)
    assert (noisy[~protected] == values[~protected]).all()


def test_hiding_ten_per_cent_of_three_numbers_is_three_logarithms():
    guarantee = protect("impedances", 1, "10%").guarantee()
    assert guarantee.distance == pytest.approx(3 * np.log(1.1), rel=1e-11)
    assert guarantee.distance >= 3 * np.log(1.1)
    assert guarantee.scale == pytest.approx(guarantee.distance + 3e-4, rel=1e-9)
    sentence = guarantee.sentence(100)
    assert "private value of a circuit" in sentence
    assert "differ by at most 0.285931 in all (such as each of r, x, b" in sentence
    assert "factor 1.1)" in sentence


@pytest.mark.parametrize(
    ("kind", "epsilon", "hide", "says"),
    [
        ("voltages", 1, "10%", "quantity: 'voltages' is none of impedances"),
        ("impedances", 1, "5MVA", "per cent of each of r, x, b"),
        ("impedances", 1, "300%", "from 0.01% to 100%"),
        ("impedances", 0, "10%", "epsilon: 0 must be above 0"),
        ("limits", "0.3", "10%", "no mean"),
    ],
)
def test_promises_that_make_no_sense_are_refused(kind, epsilon, hide, says):
    with pytest.raises(GridveilError, match=says):
        protect(kind, epsilon, hide)


def test_a_distance_beyond_sense_and_too_fine_a_grid_are_refused():
    ratings = QUANTITIES.get("ratings")
    with pytest.raises(GridveilError, match="makes sense"):
        LogLaplace.of(ratings, 1, 10)
    with pytest.raises(GridveilError, match="at least 1e-12"):
        LogLaplace.of(ratings, 1, "0.1", "1e-13")


def test_every_quantity_is_of_the_interface():
    for name in KINDS:
        quantity = QUANTITIES.get(name)
        assert issubclass(quantity, ProtectedQuantity)
        assert quantity.name == name
        assert hard(name).shape[1] == len(quantity.coordinates)
