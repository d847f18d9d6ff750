"""What the report draws beside the network, as data in the folder.

Positions of buses and the agents' history are no claims of the certificate, but the page is made
from them; so they are files of the release, and anyone can make the page again.
"""

import csv
import io
from collections.abc import Sequence

import numpy as np

from gridveil.admm.history import History
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.files import csv_bytes
from gridveil.network.network import Network
from gridveil.network.positions import positions

_POSITION_COLUMNS = ("bus", "x", "y")
_HISTORY_COLUMNS = ("iteration", "primal", "dual", "rho", "cost")
_DIGITS = 7
PLACES = 4
"""Decimal places of a position."""
_MOST_ITERATIONS = 1_000_000


def positions_file(network: Network) -> bytes:
    """Return where to draw the buses of a network, as a CSV file."""
    return file_of_positions(network, positions(network.buses, network.lines))


def file_of_positions(network: Network, place: FloatArray) -> bytes:
    """Return x and y of every bus of a network, of shape (buses, 2), as a CSV file."""
    numbers = network.buses.number.tolist()
    rows = (
        (n, *(f"{coordinate:.{PLACES}f}" for coordinate in at))
        for n, at in zip(numbers, place.tolist(), strict=True)
    )
    return csv_bytes(_POSITION_COLUMNS, rows)


def read_positions(data: bytes, network: Network) -> FloatArray:
    """Return x and y of every bus from such a file, of shape (buses, 2)."""
    rows = _rows(data, _POSITION_COLUMNS, "the file of positions", len(network.buses))
    if rows[:, 0].tolist() != network.buses.number.tolist():
        raise GridveilError("the file of positions has other buses than the network")
    return rows[:, 1:]


def history_file(history: History) -> bytes:
    """Return the history of the agents as a CSV file; cells of what is not known are empty."""
    columns = [getattr(history, name) for name in _HISTORY_COLUMNS[1:]]
    rows = (
        (i, *(f"{value:.{_DIGITS}g}" if np.isfinite(value) else "" for value in row))
        for i, row in enumerate(zip(*columns, strict=True), 1)
    )
    return csv_bytes(_HISTORY_COLUMNS, rows)


def read_history(data: bytes) -> History:
    """Return the history in such a file. The objective is not published, so it is unknown."""
    rows = _rows(data, _HISTORY_COLUMNS, "the history of the agents", _MOST_ITERATIONS)
    primal, dual, rho, cost = rows[:, 1:].T
    return History(primal, dual, rho, np.full(len(rows), np.nan), cost)


def _rows(data: bytes, columns: Sequence[str], what: str, most: int) -> FloatArray:
    """Return the numbers of a CSV file, whose lines are counted before any is read."""
    count = data.count(b"\n") - 1
    if not 0 <= count <= most:
        raise GridveilError(f"{what} has too few or too many lines")
    values = np.empty((count, len(columns)))
    try:
        lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "ascii", newline="\n"))
        if tuple(next(lines)) != tuple(columns):
            raise GridveilError(f"{what} has other columns")
        for row, cells in zip(values, lines, strict=True):
            if len(cells) != len(columns):
                raise GridveilError(f"{what} has a line with other columns")
            row[:] = [float(cell or "nan") for cell in cells]
    except (ValueError, csv.Error):
        raise GridveilError(f"{what} cannot be read") from None
    return values
