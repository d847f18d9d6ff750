"""Ramp limits: by how much a generator's output may change from one hour to the next.

MATPOWER's columns hold MW a minute (`ramp_agc`), MW in 10 minutes and MW in 30 minutes. The slowest
of those that are given is what an hour allows: 0 stands for no limit there. Most public cases have
none of them; a file has a row for each generator that has a limit.
"""

from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.files import finite_number, read_rows
from gridveil.network.network import Network

_TIMES_AN_HOUR = {"ramp_agc": 60.0, "ramp_10": 6.0, "ramp_30": 2.0}
COLUMNS = ("generator", "ramp_mw")
"""Of a file of ramp limits: a generator's row in the case file, from 1, and MW an hour."""


def case_ramps(network: Network) -> FloatArray:
    """Return the ramp limit of each generator by its case file, in p.u. an hour; infinite without.

    Example:
        >>> from gridveil import load_case
        >>> case_ramps(load_case("case5_pjm"))
        array([inf, inf, inf, inf, inf])
    """
    table, rows = network.case.tables["gen"], network.generators.row
    limits = np.full(len(rows), np.inf)
    for name, times in _TIMES_AN_HOUR.items():
        given = table.column(name)[rows] * times / network.base_mva
        limits = np.where(given > 0, np.minimum(limits, given), limits)
    return limits


def read_ramps(path: Path, network: Network) -> FloatArray:
    """Read a CSV file of ramp limits; generators that it does not name have none.

    Raises:
        GridveilError: The file is not as it should be; says where.
    """
    place_of = {row + 1: g for g, row in enumerate(network.generators.row.tolist())}
    limits, seen = np.full(len(network.generators), np.inf), set()
    for place, line in read_rows(path, COLUMNS):
        row = finite_number(place, "generator", line)
        ramp = finite_number(place, "ramp_mw", line)
        if row not in place_of:
            raise GridveilError(
                f"{place}: no generator {row:g} in service; generators are named by their row in "
                "the case file, from 1"
            )
        if row in seen:
            raise GridveilError(f"{place}: generator {row:g} stands there twice")
        if ramp <= 0:
            raise GridveilError(f"{place}: ramp_mw must be above 0, in MW an hour")
        seen.add(row)
        limits[place_of[int(row)]] = ramp / network.base_mva
    return limits


def ramp_excess(outputs: FloatArray, ramps: FloatArray) -> float:
    """Return by how much outputs of consecutive hours break ramp limits at most, in p.u.

    Args:
        outputs: Of shape (hours, generators); an hour of NaN breaks nothing.
        ramps: The limit of each generator.
    """
    excess = np.abs(np.diff(outputs, axis=0)) - ramps
    return float(np.nanmax(np.maximum(excess, 0.0), initial=0.0))
