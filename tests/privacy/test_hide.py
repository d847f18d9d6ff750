"""What is hidden, said in one way."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.privacy.hide import HiddenIn, Hide


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("10%", "1/10", HiddenIn.LOAD),
        (" 2.5 % ", "1/40", HiddenIn.LOAD),
        ("5MVA", "5", HiddenIn.MVA),
        ("5 mva", "5", HiddenIn.MVA),
        ("500kVA", "1/2", HiddenIn.MVA),
        ("0.1GVA", "100", HiddenIn.MVA),
        ("20%rating", "1/5", HiddenIn.RATING),
        ("20 % of rating", "1/5", HiddenIn.RATING),
        ("1/3%", "1/300", HiddenIn.LOAD),
    ],
)
def test_texts_are_read_exactly(text, amount, unit):
    assert Hide.parse(text) == Hide(Fraction(amount), unit)


@pytest.mark.parametrize(
    "text",
    ["", "10", "%", "10 percent", "5MW", "-5%", "0%", "nan%", "1e999999999%", "5MVA 6", None],
)
def test_other_texts_are_refused_with_examples(text):
    with pytest.raises(GridveilError, match="hide"):
        Hide.parse(text)


@given(
    st.integers(1, 10**6),
    st.sampled_from(["%", "MVA", "%rating"]),
)
def test_what_is_shown_can_be_read(number, unit):
    hidden = Hide.parse(f"{number / 1000:g}{unit}")
    assert Hide.parse(str(hidden)) == hidden


@pytest.mark.parametrize(
    ("amount", "unit"), [("x", HiddenIn.MVA), (0.1, HiddenIn.LOAD), (Fraction(0), HiddenIn.LOAD)]
)
def test_objects_are_checked_as_texts_are(amount, unit):
    with pytest.raises(GridveilError, match="hide"):
        Hide(amount, unit)
