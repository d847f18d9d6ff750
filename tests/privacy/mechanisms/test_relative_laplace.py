"""Noise in per cent: steps, loss, distribution, audit, bias, refusals and what is stated of it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.relative_laplace import adversarial_pairs, steps_and_distance
from gridveil import Clamped, GridveilError, PublicBounds, RelativeLaplace, audit, make_mechanism
from gridveil.privacy.audit import AuditVerdict
from gridveil.privacy.ledger.accounting import slope
from gridveil.privacy.mechanisms.base import StatedProtection, checked_release, checked_simulation
from gridveil.privacy.metric import Metric
from tests.privacy.sampling.hyperbolic import distance as exact_distance

SURE = 1 - 1e-6
FLOOR = Fraction(1, 400)
MECHANISM = RelativeLaplace.of(1, "0.1")
DISTANCES = ("0.01", "0.1", "0.4")
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("distance", [*DISTANCES, "0.0973"])
def test_pairs_at_the_edges_of_rounding_are_at_most_three_steps_more_apart(distance):
    mechanism = RelativeLaplace.of(1, distance)
    pairs = adversarial_pairs(mechanism, 100_000, np.random.default_rng(4))
    steps, apart = steps_and_distance(mechanism, *pairs)
    assert (steps <= apart + 3).all()
    reach = mechanism.calibration.alpha / mechanism.step
    within = steps[apart <= float(reach)]
    assert len(within) > 50_000
    assert reach <= within.max() <= reach + 3


@settings(max_examples=300)
@given(st.lists(finite | st.floats(-0.02, 0.02), min_size=4, max_size=4))
def test_hostile_doubles_lose_no_more_than_the_slope(numbers):
    one, other = np.array([numbers[:2]]), np.array([numbers[2:]])
    k, far = MECHANISM.to_grid(one), MECHANISM.to_grid(other)
    apart = exact_distance(tuple(numbers[:2]), tuple(numbers[2:]), FLOOR)
    assert int(np.abs(k - far).sum()) <= apart / MECHANISM.step + 3
    outputs = np.vstack([k, far, 2 * k - far, 2 * far - k])
    most = np.abs(MECHANISM.loss(outputs, k, far)).max()
    assert most <= float(slope(Fraction(1, 10), apart)) * (1 + 1e-12)


@settings(max_examples=300)
@given(
    st.floats(-15, 15), st.floats(-15, 15), st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 0.3)
)
def test_near_pairs_lose_no_more_than_the_slope(u, tau, along_u, along_tau, far):
    size = max(abs(along_u) + abs(along_tau), 1e-9)
    moved = (u + far * along_u / size, tau + far * along_tau / size)
    one, other = (
        (0.01 * np.sinh(u), 0.01 * np.cosh(u) * np.sinh(tau)) for u, tau in ((u, tau), moved)
    )
    k, z = MECHANISM.to_grid(np.array([one])), MECHANISM.to_grid(np.array([other]))
    apart = exact_distance(tuple(map(float, one)), tuple(map(float, other)), FLOOR)
    losses = np.abs(MECHANISM.loss(np.vstack([k, z]), k, z))
    assert losses.max() <= float(slope(Fraction(1, 10), apart)) * (1 + 1e-12)


@pytest.mark.parametrize("load", [np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0])
@pytest.mark.filterwarnings("error")
def test_every_load_is_released(load):
    loads = np.array([[load, 1.0], [1.0, load], [load, load], [load, -load]])
    steps = checked_release(MECHANISM, loads)
    assert np.abs(steps - MECHANISM.to_grid(loads)).max() < 100_000
    assert np.isfinite(MECHANISM.from_grid(steps)).all()


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("load", [0.0, -1e-4, 1e-4, -0.01, 0.01, 1.0])
def test_released_steps_follow_the_distribution(load, distance):
    """Noise on u and τ of a load, χ² against the exact probabilities of bands of steps."""
    mechanism = RelativeLaplace.of(1, distance)
    loads = np.tile([[load, -0.3 * load]], (20_000, 1))
    noise = mechanism.release(mechanism.to_grid(loads)) - mechanism.to_grid(loads[:1])
    assert bands_fit(noise[:, 0], mechanism.scale) > 1e-6
    assert bands_fit(noise[:, 1], mechanism.scale) > 1e-6
    assert bands_fit(noise[:, 0], 1.1 * mechanism.scale) < 1e-6, "the test can fail"


def bands_fit(noise, scale, bands=40):
    """Return the p-value of whole noise against the discrete Laplace distribution."""
    from scipy import stats

    edges = np.rint(stats.laplace(0, scale).ppf(np.arange(1, bands) / bands)).astype(int)
    ratio = np.exp(-1 / scale)
    below = [  # P(Z < edge)
        ratio ** (1 - e) / (1 + ratio) if e <= 0 else 1 - ratio**e / (1 + ratio) for e in edges
    ]
    chances = np.diff([0.0, *below, 1.0])
    counts = np.bincount(np.searchsorted(edges, noise, side="right"), minlength=bands)
    return stats.chisquare(counts, chances * len(noise)).pvalue


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_audit_finds_a_tenth_less_than_the_claim_at_most(distance):
    mechanism = RelativeLaplace.of(1, distance)
    own = mechanism.audit_pairs()
    chosen = {"0.01": own[:2], "0.1": own[2:5], "0.4": own[6:8]}[distance]
    result = audit(mechanism, pairs=chosen, trials=200_000, confidence=SURE)
    assert 0.9 <= result.epsilon_lower_bound <= 1.0
    assert result.verdict is AuditVerdict.CONSISTENT


@pytest.mark.parametrize("distance", DISTANCES)
def test_every_load_at_every_distance_gives_away_no_more_than_is_claimed(distance):
    """The benchmark `relative_laplace` has the trials to find 0.9 to 1 of the claim at each."""
    mechanism = RelativeLaplace.of(1, distance)
    result = audit(mechanism, pairs=mechanism.audit_pairs(), trials=10_000, confidence=SURE)
    bounds = {pair.one[0] / FLOOR: [] for pair in result.pairs}
    for pair in result.pairs:
        bounds[pair.one[0] / FLOOR].append(pair.epsilon_lower_bound)
    assert sorted(bounds) == pytest.approx([-1, -0.01, 0, 0.01, 1, 100], rel=1e-12)
    assert all(0.6 < bound <= 1 for found in bounds.values() for bound in found)
    assert result.shown_by == ()


@pytest.mark.parametrize("distance", DISTANCES)
def test_audited_pairs_are_as_far_apart_as_the_promise_reaches(distance):
    mechanism = RelativeLaplace.of(1, distance)
    pairs = mechanism.audit_pairs()
    for one, other in pairs:
        assert exact_distance(one, other, FLOOR) == pytest.approx(float(distance), rel=1e-9)
    sizes = sorted({one[0] for one, _ in pairs})
    assert sizes == pytest.approx([-0.0025, -2.5e-5, 0.0, 2.5e-5, 0.0025, 0.25], rel=1e-12)


@pytest.mark.parametrize("kind", ["exact", "simulated"])
def test_means_are_corrected_and_the_median_of_p_needs_no_correction(kind):
    mechanism = RelativeLaplace.of(1, "0.2")
    loads = np.tile([[1.0, -0.4]], (150_000, 1))
    noisy = (
        mechanism.from_grid(mechanism.release(mechanism.to_grid(loads)))
        if kind == "exact"
        else mechanism.simulate(loads, np.random.default_rng(5))
    )
    error = 5 * noisy.std(axis=0) / np.sqrt(len(noisy))
    corrected = mechanism.corrected(noisy)
    assert (np.abs(corrected.mean(axis=0) - loads[0]) < error).all()
    assert (np.abs(noisy.mean(axis=0) - loads[0]) > error).any(), "there is a bias to correct"
    assert (noisy[:, 0] < 1.0).mean() == pytest.approx(0.5, abs=0.01)
    above = (noisy[:, 0] > np.exp(0.6)).mean()
    assert above == pytest.approx(np.exp(-0.6 / mechanism.chart_scale) / 2, rel=0.1)


def test_simulated_and_exact_loads_have_the_same_quantiles():
    loads = np.tile([[0.005, 0.02]], (100_000, 1))
    exact = MECHANISM.from_grid(MECHANISM.release(MECHANISM.to_grid(loads)))
    simulated = checked_simulation(MECHANISM, loads, np.random.default_rng(6))
    shares = np.linspace(0.05, 0.95, 19)
    one, two = (np.quantile(drawn, shares, axis=0) for drawn in (exact, simulated))
    assert np.abs(one - two).max() < 2e-4


def test_a_load_of_zero_may_come_out_negative_and_large_ones_do_not():
    loads = np.array([[0.0, 0.0], [1.0, 1.0]] * 5_000)
    private = MECHANISM.from_grid(MECHANISM.release(MECHANISM.to_grid(loads)))
    assert (private[::2] < 0).mean() == pytest.approx(0.5, abs=0.05)
    p, q = private[1::2].T
    assert (p > 0).all()  # a load of 100 floors: 1e-23
    assert (q < 0).mean() < 0.002  # 8e-5 each
    assert MECHANISM.noise_variance() is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((1, "0.5"), "raise epsilon, or choose a smaller distance"),
        ((1, "0.4999"), "infinite"),
        ((0.1, "0.1"), "infinite"),
        ((3, "1.01"), "more than the whole load"),
        ((100, "10"), "Was 0.1 meant, which is 10 %"),
        ((1, "0.00009"), "protects next to nothing"),
        ((1, "0"), "from 0.0001 to 1"),
        ((1, "-0.1"), "from 0.0001 to 1"),
        ((0, "0.1"), "epsilon: 0 must be above 0"),
        ((-1, "0.1"), "must be above 0"),
        ((1, "0.1", "0.001"), "too coarse"),
        ((1, "0.1", "1e-13"), "grid step: 1e-13 must be at least"),
        ((1, "0.1", "0"), "grid step"),
        ((1, "0.1", None, 0), "floor: 0 must be above 0"),
        ((1, "0.1", None, "-1"), "floor: -1 must be above 0"),
        ((1, "nan"), "not a finite number"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, says):
    with pytest.raises(GridveilError, match=says):
        RelativeLaplace.of(*arguments)


@pytest.mark.parametrize(("distance", "warns"), [("0.25", False), ("0.26", True), ("0.4", True)])
def test_wide_noise_is_warned_of_and_not_refused(distance, warns):
    guarantee = RelativeLaplace.of(1, distance).guarantee()
    assert bool(guarantee.warning) == warns
    assert guarantee.caution == ""


def test_it_is_made_by_name_with_and_without_a_floor():
    assert make_mechanism("relative-laplace", 1, "0.1") == MECHANISM
    made = make_mechanism("relative-laplace", "1/3", "0.1", step="0.00001", floor="0.02")
    assert made.specification() == {
        "mechanism": "relative-laplace",
        "epsilon": "1/3",
        "distance": "1/10",
        "step": "1/100000",
        "floor": "1/50",
    }
    assert RelativeLaplace.from_parameters(made.specification()) == made


@pytest.mark.parametrize(
    "changed",
    [{"distance": "0.1"}, {"floor": "0.0025"}, {"floor": ""}, {"epsilon": "1/10"}, {"step": "1"}],
)
def test_parameters_have_one_spelling(changed):
    assert RelativeLaplace.from_parameters({**MECHANISM.specification(), **changed}) is None


def test_the_guarantee_says_what_is_promised():
    guarantee = MECHANISM.guarantee()
    assert (guarantee.kind, guarantee.distance, guarantee.floor) == (Metric.RELATIVE, 0.1, 0.0025)
    assert guarantee.scale == pytest.approx(0.1003)
    sentence = guarantee.sentence(100)
    assert "a relative distance of at most 10 %" in sentence
    assert "well above 0.25 MVA, and about 0.025 MVA well below" in sentence


@pytest.mark.parametrize(
    ("epsilon", "distance", "step"), [("1", "0.1", None), ("0.7", "0.0973", "1/123457")]
)
def test_the_scale_is_for_three_steps_more_than_the_distance(epsilon, distance, step):
    mechanism = RelativeLaplace.of(epsilon, distance, step)
    needed = (Fraction(distance) / mechanism.step + 3) / Fraction(epsilon)
    assert 0 <= Fraction(mechanism.scale) - needed < Fraction(1, 10**9)


def stated_of(mechanism, **changes):
    """What a certificate says of a mechanism."""
    guarantee = mechanism.guarantee()
    stated = StatedProtection(
        promise=guarantee.sentence(100.0),
        unit=guarantee.unit,
        epsilon=guarantee.epsilon,
        epsilon_costs=0.0,
        delta=0.0,
        alpha_pu=None,
        metric=guarantee.metric,
        grid_step_pu=guarantee.step,
        noise_scale_pu=guarantee.scale,
        caution="",
        parameters=mechanism.specification(),
        base_mva=100.0,
        kind=guarantee.kind.value,
        relative_distance=guarantee.distance,
        floor_pu=guarantee.floor,
    )
    return replace(stated, **changes)


BOUNDS = PublicBounds(np.array([[0.0, -0.5]]), np.array([[2.0, 1.0]]), "ratings")


@pytest.mark.parametrize("mechanism", [MECHANISM, RelativeLaplace.of("1/3", "1/17"),
                                       Clamped(MECHANISM, BOUNDS)])  # fmt: skip
def test_what_is_true_of_it_is_confirmed(mechanism):
    claims = list(RelativeLaplace.checks(stated_of(mechanism)))
    assert [one.name for one in claims] == ["promise", "scale of the noise", "metric", "parameters"]
    assert all(one.ok for one in claims)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "absolute"},
        {"alpha_pu": 0.1},
        {"alpha_pu": 0.1, "relative_distance": None},
        {"relative_distance": 0.2},
        {"relative_distance": None},
        {"floor_pu": 0.02},
        {"floor_pu": None},
        {"noise_scale_pu": 0.1002},
        {"noise_scale_pu": None},
        {"grid_step_pu": 1e-5},
        {"epsilon": 0.9},
        {"epsilon_costs": 0.1},
        {"metric": "|ΔP| + |ΔQ|, the L1 distance between two values of the load"},
        {"parameters": {}},
        {"parameters": {**MECHANISM.specification(), "floor": "1/50"}},
        {"parameters": {**MECHANISM.specification(), "alpha": "1/10"}},
        {"caution": "x"},
        {"base_mva": 10.0},
    ],
)
def test_what_is_not_true_of_it_is_a_broken_claim(changes):
    claims = list(RelativeLaplace.checks(stated_of(MECHANISM, **changes)))
    assert not all(one.ok for one in claims)


def test_bounds_are_applied_to_loads_and_not_to_steps():
    mechanism = Clamped(RelativeLaplace.of(1, "0.4"), BOUNDS)
    loads = np.tile([[1.9, 0.9]], (2_000, 1))
    private = mechanism.from_grid(checked_release(mechanism, loads))
    assert (private >= [0.0, -0.5]).all()
    assert private.max(axis=0).tolist() == [2.0, 1.0]
    assert (private[:, 0] == 2.0).mean() == pytest.approx(0.45, abs=0.1)
    corrected = mechanism.corrected(private)
    assert (corrected[:, 0] <= private[:, 0]).all()


def test_bounds_that_are_not_public_or_for_other_loads_are_refused():
    loads = np.ones((3, 2))
    for bounds, says in (
        (replace(BOUNDS, simulated=True), "simulation only"),
        (PublicBounds(np.zeros((2, 2)), np.ones((2, 2)), "ratings"), "public bounds for 2 loads"),
    ):
        mechanism = Clamped(MECHANISM, bounds)
        with pytest.raises(GridveilError, match=says):
            checked_release(mechanism, loads)
