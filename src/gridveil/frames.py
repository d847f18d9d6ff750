"""Tables as pandas data frames; pandas is an extra."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridveil.errors import GridveilError

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Any]) -> "DataFrame":
    """Return a data frame of columns of equal length.

    Args:
        columns: The values of each column by its name, from left to right.

    Raises:
        GridveilError: pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise GridveilError("pandas is not installed; pip install 'gridveil[notebook]'") from None
    return DataFrame(dict(columns))


def frame_of_rows(rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
    """Return a data frame of rows that all have the same names."""
    names = rows[0] if rows else ()
    return data_frame({name: [row[name] for row in rows] for name in names})
