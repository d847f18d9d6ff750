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
_LONGEST = 10_000_000


def positions_file(network: Network) -> bytes:
    """Return where to draw the buses of a network, as a CSV file."""
    place = positions(network.buses, network.lines).tolist()
    numbers = network.buses.number.tolist()
    rows = ((n, f"{x:.4f}", f"{y:.4f}") for n, (x, y) in zip(numbers, place, strict=True))
    return csv_bytes(_POSITION_COLUMNS, rows)


def read_positions(data: bytes, network: Network) -> FloatArray:
    """Return x and y of every bus from such a file, of shape (buses, 2)."""
    rows = _rows(data, _POSITION_COLUMNS, "the file of positions")
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
    rows = _rows(data, _HISTORY_COLUMNS, "the history of the agents")
    primal, dual, rho, cost = rows[:, 1:].T
    return History(primal, dual, rho, np.full(len(rows), np.nan), cost)


def _rows(data: bytes, columns: Sequence[str], what: str) -> FloatArray:
    try:
        head, *rows = csv.reader(io.StringIO(data.decode()))
        if tuple(head) != tuple(columns) or len(rows) > _LONGEST:
            raise GridveilError(f"{what} has other columns")
        values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    except (ValueError, csv.Error):
        raise GridveilError(f"{what} cannot be read") from None
    return values.reshape(len(rows), len(columns))
