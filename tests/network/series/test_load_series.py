"""Load series: hours, keys, and no value in any text."""

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.network.series.load_series import LoadSeries, hour_text

SERIES = LoadSeries(482136, [[0.123456], [0.3]] * np.ones((2, 2)), np.zeros((2, 2)), ("a", "b"))


def test_times_are_those_of_utc():
    assert [str(time) for time in SERIES.times] == ["2025-01-01T00:00:00", "2025-01-01T01:00:00"]
    assert hour_text(SERIES.first_hour) == "2025-01-01T00:00Z"
    assert SERIES.between(1, 2).first_hour == SERIES.first_hour + 1


def test_no_text_form_shows_a_value():
    assert "0.12" not in f"{SERIES!r} {SERIES!s}"


@pytest.mark.parametrize(
    ("p", "keys", "says"),
    [
        (np.zeros((2, 3)), ("a", "b"), "2 loads"),
        (np.zeros((0, 2)), ("a", "b"), "every hour"),
        (np.full((2, 2), np.nan), ("a", "b"), "finite"),
        (np.zeros((2, 2)), ("a", "a"), "twice"),
    ],
)
def test_what_is_no_series(p, keys, says):
    with pytest.raises(GridveilError, match=says):
        LoadSeries(0, p, p, keys)


def test_hours_outside():
    with pytest.raises(GridveilError, match="0 to 2"):
        SERIES.between(1, 3)
