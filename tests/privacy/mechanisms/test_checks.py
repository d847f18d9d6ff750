"""What a hostile certificate states about a mechanism is a claim that does not hold, no failure."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil import Piecewise, PolarLaplace, ProductLaplace, RelativeLaplace
from gridveil.claims import Claim, ClaimVerdict
from gridveil.privacy.guarantee import (
    ANY,
    L1,
    WITHIN_BOUNDS,
    WITHIN_DISTANCE,
    WITHIN_PER_CENT,
    promise,
)
from gridveil.privacy.mechanisms.base import StatedProtection, checked_claims

SIZES = (5e-324, 1e-308, 1e-30, 1.0, 699.9, 700.1, 1e30, 1.7976931348623157e308)
positive = st.sampled_from(SIZES) | st.floats(0, exclude_min=True, allow_infinity=False)
maybe = st.none() | positive
numbers = st.sampled_from(
    [
        "", "0", "-1", "1/3", "1/0", "0/0", "1e-999", "1e999", "1e99999999999", "1e0_99999999",
        "1e-٩٩٩٩٩٩٩٩", "nan", "inf", "-inf", "1e30", "1e-30", "9" * 5000, "1/" + "9" * 5000,
        "0." + "0" * 500 + "1", "\x00", "\ud800", " 1 ", "1_0", "٣",
    ]
)  # fmt: skip
values = numbers | st.text(max_size=20) | positive.map(str)
names = (
    "mechanism", "epsilon", "alpha", "distance", "floor", "step", "calibration", "bounds",
    "clamped",
)  # fmt: skip
parameters = st.fixed_dictionaries(
    {"epsilon": values, "alpha": values, "step": values},
    optional={
        "distance": values,
        "floor": values,
        "calibration": st.sampled_from(["sound", "paper", "x"]),
        "clamped": st.just("yes"),
    },
) | st.dictionaries(st.sampled_from(names) | st.text(max_size=5), values, max_size=8)


@st.composite
def statements(draw):
    """Numbers as the schema allows them: the costs never took all of ε."""
    epsilon = draw(positive)
    costs = draw(st.sampled_from([0.0, epsilon / 2]) | st.floats(0, epsilon, exclude_max=True))
    return StatedProtection(
        promise=draw(st.text(max_size=20)),
        unit=draw(st.text(max_size=5)),
        epsilon=epsilon,
        epsilon_costs=costs if costs < epsilon else 0.0,
        delta=draw(st.floats(0, 1, exclude_max=True)),
        alpha_pu=draw(maybe),
        metric=draw(st.sampled_from([L1, ANY, "", "x"])),
        grid_step_pu=draw(positive),
        noise_scale_pu=draw(maybe),
        caution=draw(st.sampled_from(["", "{mva}", "x"])),
        parameters=draw(parameters),
        base_mva=draw(positive),
        kind=draw(st.sampled_from(["absolute", "relative", "log", ""])),
        relative_distance=draw(maybe),
        floor_pu=draw(maybe),
    )


@settings(max_examples=400)
@given(statements())
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [PolarLaplace, ProductLaplace, RelativeLaplace, Piecewise])
def test_extreme_numbers_are_checked_without_a_failure(kind, stated):
    claims = list(kind.checks(stated))
    assert claims
    assert all(isinstance(one, Claim) for one in claims)
    assert not all(one.ok for one in claims), "the promise is not the sentence of these numbers"


@given(positive, st.floats(0, 1, exclude_max=True), maybe, positive, maybe)
@pytest.mark.parametrize(
    "pairs", [WITHIN_DISTANCE, WITHIN_BOUNDS, WITHIN_PER_CENT, "{mva} {pu} {0} {"]
)
def test_every_promise_has_a_sentence(pairs, epsilon, delta, distance, base, floor):
    sentence = promise(epsilon, delta, distance, base, pairs, "", floor)
    assert sentence.startswith("Whatever else")


def test_checks_that_fail_are_a_claim_that_does_not_hold():
    class Own(ProductLaplace):
        name = "own"

        @classmethod
        def checks(cls, stated):
            yield from super().checks(stated)
            raise OverflowError("\x1b[2J")

    stated = StatedProtection("", "", 1.0, 0.0, 0.0, None, "", 1.0, None, "", {}, 1.0)
    last = list(checked_claims(Own, stated))[-1]
    assert (last.verdict, last.found) == (ClaimVerdict.BROKEN, "failed: OverflowError")
