"""A last look at a released series, on the owner's side, before its folder appears.

Tables are compressed, so their numbers are compared before they are written: every load in every
hour with the raw values of the same load in any hour, in MW, kW and p.u., and every other number
with the raw totals of all hours. Numbers of the model, at which outputs and voltages may stand, and
targets, which are rounded to a few digits, agree with totals by chance: nobody may learn a total
from a release that does not appear, so they are left out. The other files are scanned as those of a
snapshot, with the raw loads of the hour that stands in the case file. As there, nothing is found by
construction; the scan guards against our own mistakes, and its messages show no value.
"""

import json
from collections.abc import Collection, Iterator

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries
from gridveil.privacy.series.phase import PrivateSeries
from gridveil.publication.certificate import Certificate, StatedCosts, StatedDispatch
from gridveil.publication.explained import model_numbers, operating_numbers
from gridveil.publication.folder import POSITIONS
from gridveil.publication.report.html import page_texts
from gridveil.publication.report.series_charts import mean_week, profile_ticks
from gridveil.publication.scan.numbers_in_text import readings
from gridveil.publication.scan.scan import Explained, refuse_matches
from gridveil.publication.scan.secret_numbers import SAME, near, units_of
from gridveil.publication.series.make import SeriesRelease
from gridveil.publication.series.tables import (
    DISPATCH,
    HOURS,
    LOADS,
    SCHEMAS,
    VOLTAGES,
    SeriesTables,
)

_LISTED = 10
_ROUNDED = ("target", "cost_target")
"""Columns whose numbers are rounded to the digits that β can use."""
_NONE = np.zeros(0)


def refuse_series_matches(
    made: SeriesRelease,
    network: Network,
    series: LoadSeries,
    private: PrivateSeries,
    draft: bytes,
    accepted: Collection[str] = (),
) -> None:
    """Refuse a release with a match that is not accepted by its name.

    Args:
        made: The release.
        network: The owner's network.
        series: The raw loads.
        private: The private series.
        draft: The certificate as it was before the draw, without what says anything of ratings.
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
    _refuse_files(made, network.with_loads(*series.at(at)), private, draft, at, accepted)


def _refuse_files(
    made: SeriesRelease,
    network: Network,
    private: PrivateSeries,
    draft: bytes,
    hour: int,
    accepted: Collection[str],
) -> None:
    """Scan the files that are no tables, as those of a snapshot of the hour in the case file."""
    texts = {name: data for name, data in made.files.items() if name not in SCHEMAS}
    drawn = np.stack([private.p[hour], private.q[hour]], axis=1)
    published = made.published
    numbers = [
        drawn,
        *model_numbers(network),
        *operating_numbers(published.network, published.point),
        *_stated(made.certificate),
        *_pictured(made.tables),
    ]
    alphas = made.certificate.protection.parameters["alphas"]
    known = Explained(
        numbers=tuple(np.asarray(one, dtype=float) for one in numbers),
        texts=(*page_texts(), made.files[POSITIONS], draft),
        private=drawn,
        released=published.network.loads.values,
        ratings=json.dumps(alphas)[1:-1],
    )
    refuse_matches(texts, network, known, accepted)


def _stated(certificate: Certificate) -> Iterator[FloatArray]:
    """Give the figures of the certificate, which follow from private loads and the ledger."""
    series, held_to = certificate.series, certificate.stated_target
    parts = [certificate.fidelity, certificate.fidelity.violations, certificate.protection, series]
    for part in parts:
        yield np.array([value for value in vars(part).values() if isinstance(value, float)])
    yield np.array(list(certificate.protection.also_spent.values()))
    if series is not None:
        yield np.array([*series.noise_scales, *map(float, series.endings.values())])
        yield readings(series.smoothing_effect, "", least_digits=1).value
    if isinstance(held_to, StatedCosts):
        yield np.array(held_to.dollars_per_hour)
    if isinstance(held_to, StatedDispatch):
        yield np.array(held_to.megawatts)


def _pictured(tables: SeriesTables) -> Iterator[FloatArray]:
    """Give the numbers of the tables, and what the page makes of them."""
    yield from (tables.loads, tables.dispatch, tables.voltages, tables.figures)
    yield tables.figures[:, 0] * 1e9
    active = tables.loads[..., 0]
    yield from (active.min(axis=0), active.max(axis=0), active.mean(axis=0))
    total = np.full(tables.hours, np.nan)
    total[tables.released] = active.sum(axis=1)
    yield from (total, np.diff(total), mean_week(tables.first_hour, total))
    for values in (total, tables.figures[:, 0] * 1e9):
        yield profile_ticks(values)


def _matches(made: SeriesRelease, network: Network, series: LoadSeries) -> Iterator[str]:
    """Name the numbers of the tables that agree with raw loads."""
    tables, base = made.tables, network.base_mva
    with np.errstate(over="ignore", invalid="ignore"):  # of loads that are huge
        raw = np.stack([series.p, series.q, np.hypot(series.p, series.q)], axis=2) * base
        sums = raw.sum(axis=1).ravel()
    for load in range(len(tables.load_buses)):
        secrets = _sorted(raw[:, load].ravel(), network)
        for i, column in enumerate(SCHEMAS[LOADS].names[4:]):
            if _agrees(secrets, tables.loads[:, load, i]):
                yield f"{LOADS}: {column} of load {load + 1}"
    totals = _sorted(sums, network)
    model = np.unique(np.abs(np.concatenate([one.ravel() for one in model_numbers(network)])))
    others = (
        (DISPATCH, SCHEMAS[DISPATCH].names[2:], tables.dispatch),
        (VOLTAGES, SCHEMAS[VOLTAGES].names[2:], tables.voltages),
        (HOURS, SCHEMAS[HOURS].names[2:], tables.figures[:, None]),
    )
    for file, columns, values in others:
        for i, column in enumerate(columns):
            if column not in _ROUNDED and _agrees(totals, values[..., i], model):
                yield f"{file}: {column} and a total of raw loads"


def _sorted(values: FloatArray, network: Network) -> FloatArray:
    """Return raw numbers in every unit that a mistake may leave them in, sorted by size."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.abs(np.outer(units_of(network), values)).ravel()
    return np.sort(scaled[np.isfinite(scaled) & (scaled > 1e-9)])


def _agrees(secrets: FloatArray, values: FloatArray, known: FloatArray = _NONE) -> bool:
    """Whether any of some numbers is a secret one and no known one, but for its last bits."""
    sizes = np.abs(values[np.isfinite(values)])
    slack = SAME * sizes
    return bool((near(secrets, sizes, slack) & ~near(known, sizes, slack)).any())
