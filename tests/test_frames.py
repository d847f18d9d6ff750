"""Data frames, and what is said where pandas is missing."""

import sys

import pytest

from gridveil.errors import GridveilError
from gridveil.frames import data_frame


def test_columns_keep_their_order():
    pytest.importorskip("pandas", reason="pandas is an extra")
    frame = data_frame({"b": [1, 2], "a": [3.0, 4.0]})
    assert frame.columns.tolist() == ["b", "a"]
    assert frame["a"].tolist() == [3.0, 4.0]


def test_a_missing_pandas_is_told_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(GridveilError, match=r"pip install 'gridveil\[notebook\]'"):
        data_frame({"a": [1]})
