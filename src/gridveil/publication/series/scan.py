"""A last look at a released series, on the owner's side, before its folder appears.

Tables are compressed, so their numbers are compared before they are written: every load in every
hour with the raw values of the same load in any hour, in MW, kW and p.u., and every other number
with the raw total of its hour. The other files are scanned as those of a snapshot, with the raw
loads of the hour that stands in the case file. As there, nothing is found by construction; the scan
guards against our own mistakes, and its messages show no value.
"""

from collections.abc import Collection, Iterator

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries
from gridveil.privacy.series.phase import PrivateSeries
from gridveil.publication.explained import model_numbers
from gridveil.publication.folder import POSITIONS
from gridveil.publication.report.html import page_texts
from gridveil.publication.scan.scan import Explained, refuse_matches
from gridveil.publication.scan.secret_numbers import SAME, near, units_of
from gridveil.publication.series.make import SeriesRelease
from gridveil.publication.series.tables import DISPATCH, HOURS, LOADS, SCHEMAS, VOLTAGES

_LISTED = 10


def refuse_series_matches(
    made: SeriesRelease,
    network: Network,
    series: LoadSeries,
    private: PrivateSeries,
    accepted: Collection[str] = (),
) -> None:
    """Refuse a release with a match that is not accepted by its name.

    Args:
        made: The release.
        network: The owner's network.
        series: The raw loads.
        private: The private series.
        accepted: Names of matches that are coincidence.

    Raises:
        GridveilError: There is such a match; says where, and shows no value.
    """
    left = [name for name in _matches(made, network, series) if name not in accepted]
    if left:
        listed = "\n".join(f"  {name}" for name in left[:_LISTED])
        raise GridveilError(
            "the folder was not written: a last look at its tables found numbers that agree with "
            f"raw loads:\n{listed}\nThe private series is kept under its release id: another run "
            "charges nothing. If a match is a coincidence, accept it by name: --accept-match "
            f"'{left[0]}'. If it is not, this is a defect of Gridveil: please report it, without "
            "the files"
        )
    of = made.certificate.series
    assert of is not None
    hour = int((np.datetime64(of.network_hour[:-1], "h") - np.datetime64(0, "h")).astype(int))
    at = hour - series.first_hour
    _refuse_files(made, network.with_loads(*series.at(at)), private, at, accepted)


def _refuse_files(
    made: SeriesRelease,
    network: Network,
    private: PrivateSeries,
    hour: int,
    accepted: Collection[str],
) -> None:
    """Scan the files that are no tables, as those of a snapshot of the hour in the case file."""
    tables = made.tables
    texts = {name: data for name, data in made.files.items() if name not in SCHEMAS}
    drawn = np.stack([private.p[hour], private.q[hour]], axis=1)
    figures = [
        *vars(made.certificate.fidelity).values(),
        *vars(made.certificate.protection).values(),
        *vars(made.certificate.fidelity.violations).values(),
        *vars(made.certificate.series or object).values(),
    ]
    held_to = made.certificate.stated_target
    parameters = "\n".join(made.certificate.protection.parameters.values())
    numbers = [
        drawn,
        *model_numbers(network),
        np.array([value for value in figures if isinstance(value, float)]),
        np.array(list(made.certificate.protection.also_spent.values())),
        np.array(made.certificate.series.noise_scales if made.certificate.series else []),
        np.array([] if held_to is None else list(vars(held_to).values())[-1] or []),
        *_released(tables.loads, tables.dispatch, tables.voltages, tables.figures),
    ]
    known = Explained(
        numbers=tuple(np.asarray(one, dtype=float) for one in numbers),
        texts=(*page_texts(), made.files[POSITIONS], parameters),
        private=drawn,
        released=made.published.network.loads.values,
        grid_step=None,
    )
    refuse_matches(texts, network, known, accepted)


def _released(*arrays: FloatArray) -> Iterator[FloatArray]:
    """Give the numbers of tables, their sums by hour and what pages make of them."""
    for array in arrays:
        yield array
        if array.ndim == 3:
            yield array.sum(axis=1)
            yield np.abs(np.diff(array.sum(axis=1), axis=0))


def _matches(made: SeriesRelease, network: Network, series: LoadSeries) -> Iterator[str]:
    """Name the numbers of the tables that agree with raw loads."""
    tables, base = made.tables, network.base_mva
    raw = np.stack([series.p, series.q, np.hypot(series.p, series.q)], axis=2) * base
    for load in range(len(tables.load_buses)):
        secrets = _sorted(raw[:, load].ravel(), network)
        for i, column in enumerate(SCHEMAS[LOADS].names[4:]):
            if _agrees(secrets, tables.loads[:, load, i]):
                yield f"{LOADS}: {column} of load {load + 1}"
    totals = _sorted(raw.sum(axis=1).ravel(), network)
    others = (
        (DISPATCH, SCHEMAS[DISPATCH].names[2:], tables.dispatch),
        (VOLTAGES, SCHEMAS[VOLTAGES].names[2:], tables.voltages),
        (HOURS, SCHEMAS[HOURS].names[2:], tables.figures[:, None]),
    )
    for file, columns, values in others:
        for i, column in enumerate(columns):
            if _agrees(totals, values[..., i]):
                yield f"{file}: {column} and a total of raw loads"


def _sorted(values: FloatArray, network: Network) -> FloatArray:
    """Return raw numbers in every unit that a mistake may leave them in, sorted by size."""
    scaled = np.abs(np.outer(units_of(network), values)).ravel()
    return np.sort(scaled[scaled > 1e-9])


def _agrees(secrets: FloatArray, values: FloatArray) -> bool:
    """Whether any of some numbers is one of the secret ones, but for its last bits."""
    sizes = np.abs(values[np.isfinite(values)])
    return bool(near(secrets, sizes, SAME * sizes).any())
