"""Public priors from files: profiles of customers that are not those of the release."""

from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.series.forms import time_column
from gridveil.network.series.load_series import hour_text
from gridveil.network.series.moments import HOUR, Clock, moments
from gridveil.network.series.table import Table, read_table
from gridveil.privacy.series.prior import Prior

_FORM = (
    "a prior has a column time, and for each public customer NAME_p and NAME_q: P and Q of every "
    "hour in shares of the customer's rating"
)


def read_prior(path: Path, first_hour: int, hours: int, time_zone: str | None = None) -> Prior:
    r"""Read public profiles from a CSV or Parquet file, and take the hours of a release.

    Args:
        path: Its columns are time, and NAME_p and NAME_q for each customer, in shares of ratings.
        first_hour: Hours since 1970-01-01 00:00 UTC.
        hours: How many.
        time_zone: Of times without an offset.

    Raises:
        GridveilError: The file is not such a table, or lacks an hour.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "prior.csv"
        >>> _ = path.write_text("time,a_p,a_q,b_p,b_q\n1970-01-01T00:00Z,.5,.1,.6,.2\n")
        >>> read_prior(path, 0, 1).p.ravel().tolist()
        [0.5, 0.6]
    """
    table = read_table(path)
    time = time_column(table)
    seconds = moments(table.column(time), Clock(time_zone), table.place)
    rows = _rows_of_hours(table, seconds, first_hour, hours)
    names = [name[:-2] for name in table.names if name.endswith("_p") and name != time]
    for name in names:
        if f"{name}_q" not in table.names:
            raise GridveilError(f"{path}: {name}_p has no {name}_q beside it; {_FORM}")
    if len(names) < 2:
        raise GridveilError(f"{path}: at least two customers are needed; {_FORM}")
    p, q = (_values(table, names, kind)[:, rows] for kind in ("p", "q"))
    return Prior(p, q, f"{len(names)} public profiles of {path.name}")


def _values(table: Table, names: list[str], kind: str) -> FloatArray:
    return np.array([table.numbers(f"{name}_{kind}") for name in names])


def _rows_of_hours(table: Table, seconds: IntArray, first_hour: int, hours: int) -> IntArray:
    """Return the rows of consecutive hours, in their order."""
    wanted = np.arange(first_hour, first_hour + hours) * HOUR
    order = np.argsort(seconds, kind="stable")
    place = np.minimum(np.searchsorted(seconds[order], wanted), len(seconds) - 1)
    missing = np.flatnonzero(seconds[order][place] != wanted)
    if len(missing):
        raise GridveilError(
            f"{table.source}: no row for {hour_text(first_hour + int(missing[0]))}; a prior needs "
            f"every hour of the release ({len(missing)} of {hours} are missing)"
        )
    return np.asarray(order[place])
