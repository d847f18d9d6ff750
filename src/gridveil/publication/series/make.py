"""Makes the files of a released series from what was drawn and what was found for every hour.

Nothing here sees a raw load: the network is blank, loads are private ones. The same input gives the
same bytes.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError, NotSolvedError
from gridveil.fidelity.base import CostGaps
from gridveil.fidelity.result import gaps_of, relative_gap
from gridveil.fidelity.series.result import Ending
from gridveil.files import csv_bytes
from gridveil.html_table import html_table
from gridveil.network.components import LoadList
from gridveil.network.network import Network
from gridveil.network.series.load_series import hour_text
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE
from gridveil.opf.ramps import COLUMNS as RAMP_COLUMNS
from gridveil.opf.ramps import ramp_excess
from gridveil.privacy.phase import Origin
from gridveil.privacy.series.mechanism import NAME as MECHANISM
from gridveil.privacy.series.promise import SeriesPromiseKind
from gridveil.publication.case_file import PublishedCase, publish
from gridveil.publication.certificate import (
    VERSION,
    Certificate,
    Fidelity,
    Invariant,
    LedgerRow,
    Protection,
    StatedCosts,
    StatedDispatch,
    StatedPostProcessing,
    StatedSeries,
    StatedSolve,
    StatedViolations,
)
from gridveil.publication.folder import (
    CERTIFICATE,
    NETWORK,
    POSITIONS,
    REPORT,
    SIGNATURE,
    write_folder,
)
from gridveil.publication.page_data import positions_file, read_positions
from gridveil.publication.post_processing import PostProcessing
from gridveil.publication.report.series_page import series_page
from gridveil.publication.series.basis import SeriesBasis
from gridveil.publication.series.run import SolvedSeries
from gridveil.publication.series.state import NO_STATE, RunState
from gridveil.publication.series.statements import (
    METRICS,
    series_invariants,
    series_not_covered,
    series_statement,
    series_unit,
    target_source,
)
from gridveil.publication.series.tables import RAMPS, SeriesTables
from gridveil.publication.signing import sign
from gridveil.publication.software import software_of
from gridveil.publication.statements import (
    EARLIER_RELEASES,
    FIRST_RELEASE,
    LARGEST_BASE,
    SERIES_PACKAGES,
    SMALLEST_BASE,
    is_plausible_base,
    post_processing_sentences,
    target_name,
)

_NOTHING = StatedViolations(**dict.fromkeys(StatedViolations.model_fields, 0.0))


@dataclass(frozen=True, repr=False)
class SeriesRelease:
    """Everything that is published of a series, as bytes, and what it was made from."""

    certificate: Certificate
    files: Mapping[str, bytes]
    tables: SeriesTables
    published: PublishedCase
    """The network at the hour of the largest load."""
    solved: SolvedSeries
    state: RunState = NO_STATE
    """Keeps the blocks that it was made from."""

    def remove_state(self) -> None:
        """Remove what was kept of the run, once the release is saved."""
        self.state.remove()

    def save(self, path: Path | str) -> None:
        """Write the release into a new folder, whole or not at all."""
        write_folder(Path(path), self.files)

    def __repr__(self) -> str:
        stated, series = self.certificate, self.certificate.series
        assert series is not None
        return (
            f"SeriesRelease({stated.release_id!r} of {stated.network!r}: {series.hours} hours from "
            f"{series.first_hour}, {len(series.left_out)} left out, "
            f"ε = {stated.protection.epsilon:g}; {stated.fidelity.headline})"
        )

    def _repr_html_(self) -> str:
        protection, fidelity = self.certificate.protection, self.certificate.fidelity
        rows = [
            ("promise", protection.promise),
            ("method", fidelity.method),
            ("largest violation, p.u.", fidelity.max_violation),
            ("dispatch", fidelity.headline),
            ("ε spent per load, all releases", protection.cumulative_epsilon),
            ("files", ", ".join(sorted(self.files))),
        ]
        return html_table(repr(self), ("", ""), rows)


def series_draft(basis: SeriesBasis) -> Certificate:
    """Return a certificate with everything that is known before the draw.

    Raises:
        GridveilError: It could not be certified; so nothing should be charged.
    """
    base = basis.network.base_mva
    if not is_plausible_base(base):
        raise GridveilError(
            f"the base of {base:g} MVA could not be certified, so nothing is drawn or charged; it "
            f"has to be between {SMALLEST_BASE:g} and {LARGEST_BASE:g} MVA"
        )
    figures = {
        "max_violation": 0.0,
        "violations": _NOTHING,
        **_figures(basis, np.zeros(3), CostGaps(0.0, 0.0, 0.0, 0.0)),
    }
    first = hour_text(basis.mechanism.first_hour)
    try:
        stated = _stated_series(basis, [], {}, first, first, 0.0, None, "")
        targets = np.zeros(len(basis.network.generators))
        made = _certificate(basis, figures, stated, targets, []).sealed()
        made.to_bytes()  # a text may be one that no file can hold
    except Exception as error:  # pydantic's
        raise GridveilError(
            f"release {basis.release_id!r} could not be certified, so nothing is drawn or "
            f"charged: {error}"
        ) from error
    return made


def without_distances(draft: Certificate) -> Certificate:
    """Return a draft that explains nothing by the distances of loads, which are public.

    Where they are declared they may stand, whatever they agree with; nowhere else.
    """
    named = {k: text for k, text in draft.protection.parameters.items() if k != "alphas"}
    protection = draft.protection.model_copy(update={"parameters": named})
    return draft.model_copy(update={"protection": protection})


def make_series(
    basis: SeriesBasis, solved: SolvedSeries, key: Ed25519PrivateKey | None = None
) -> SeriesRelease:
    """Make the release of a series from what was found for every hour.

    Args:
        basis: What was decided, and what the ledger says.
        solved: What was found.
        key: Signs the certificate.

    Raises:
        NotSolvedError: No hour was found.
    """
    restored, network = solved.restored, basis.network
    released = np.flatnonzero(restored.endings != Ending.LEFT_OUT)
    if not len(released):
        raise NotSolvedError(
            "no hour was found in which the network works near the private loads; the private "
            f"series is kept under release id {basis.release_id!r}: try again with another beta, "
            "method or band, at no further cost"
        )
    peak = int(released[np.argmax(restored.p[released].sum(axis=1))])
    published = publish(
        network, restored.p[peak], restored.q[peak], restored.points.at(peak), LoadList.none()
    )
    tables = series_tables(basis, solved)
    certificate = _certified(basis, solved, released, peak)
    files = {
        NETWORK: published.text.encode("utf-8", "surrogateescape"),
        **tables.files(basis.with_csv),
        POSITIONS: positions_file(network),
    }
    if basis.ramps is not None:
        files[RAMPS] = _ramps_file(basis)
    place = read_positions(files[POSITIONS], published.network)
    files[REPORT] = series_page(certificate, published, tables, place)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    certificate = certificate.model_copy(update={"files": digests}).sealed()
    files[CERTIFICATE] = certificate.to_bytes()
    if key is not None:
        files[SIGNATURE] = sign(key, files[CERTIFICATE])
    return SeriesRelease(certificate, files, tables, published, solved)


def series_tables(basis: SeriesBasis, solved: SolvedSeries) -> SeriesTables:
    """Return the numbers of a release in the units of its files."""
    network, restored, base = basis.network, solved.restored, basis.network.base_mva
    released = np.flatnonzero(restored.endings != Ending.LEFT_OUT)
    points, targets = restored.points, solved.targets[released]
    if not targets.shape[1]:
        targets = np.full((len(released), len(network.generators)), np.nan)
    elif not basis.band.on_costs:
        targets = targets * base
    outputs = np.stack([points.p[released] * base, points.q[released] * base, targets], axis=2)
    volts = np.stack([points.v[released], np.degrees(points.theta[released])], axis=2)
    return SeriesTables(
        first_hour=basis.mechanism.first_hour,
        hours=basis.hours,
        released=released,
        load_buses=np.array(network.load_buses, dtype=np.int64),
        loads=np.stack([restored.p[released], restored.q[released]], axis=2) * base,
        generators=network.generators.row + 1,
        dispatch=outputs,
        buses=network.buses.number,
        voltages=volts,
        endings=tuple(Ending(ending).words for ending in restored.endings.tolist()),
        figures=_hourly_figures(basis, solved),
    )


def _hourly_figures(basis: SeriesBasis, solved: SolvedSeries) -> FloatArray:
    """Return the figures of each hour as hours.parquet has them."""
    restored, network = solved.restored, basis.network
    figures = np.full((restored.hours, 5), np.nan)
    figures[:, 0] = restored.violations
    figures[:, 1] = restored.displacement * network.base_mva
    if basis.band.on_costs:
        figures[:, 2] = solved.targets.sum(axis=1)
        figures[:, 3] = network.generators.costs(restored.points.p).sum(axis=1)
        figures[:, 4] = solved.optimal
        figures[restored.endings == Ending.LEFT_OUT, 2:] = np.nan
    return figures


def _certified(basis: SeriesBasis, solved: SolvedSeries, released: Any, peak: int) -> Certificate:
    """Return the certificate of all released hours."""
    restored, first = solved.restored, basis.mechanism.first_hour
    largest = solved.violations[released].max(axis=0)
    if not largest.max() <= FEASIBILITY_TOLERANCE:
        raise AssertionError("an hour that breaks its limits is left out")
    names = StatedViolations.model_fields
    hourly = _hourly_figures(basis, solved)[released]
    fidelity = {
        "max_violation": float(largest.max()),
        "violations": StatedViolations(**dict(zip(names, largest.tolist(), strict=True))),
        **_figures(basis, hourly[:, 2:].sum(axis=0), _worst_gaps(basis, solved, released)),
    }
    worst = int(released[np.argmax(restored.violations[released])])
    stated = _stated_series(
        basis,
        [hour_text(first + int(hour)) for hour in restored.left_out],
        restored.counts(),
        hour_text(first + peak),
        hour_text(first + worst),
        float(restored.violations[released].mean()),
        None if basis.ramps is None else ramp_excess(restored.points.p, basis.ramps),
        solved.smoothing_effect,
    )
    targets = solved.targets[released].mean(axis=0)
    solves = [
        StatedSolve.model_validate(dict(zip(StatedSolve.model_fields, solve, strict=True)))
        for solve in solved.solves
    ]
    return _certificate(basis, fidelity, stated, targets, solves)


def _worst_gaps(basis: SeriesBasis, solved: SolvedSeries, released: Any) -> CostGaps:
    """Return the largest gap of a generator and the largest deviation of any hour."""
    each = [
        gaps_of(basis.network, basis.band, solved.targets[h], solved.restored.points.p[h])
        for h in released
    ]
    worst, deviation = (
        float(np.max([getattr(gaps, name) for gaps in each]))
        for name in ("worst_generator", "deviation")
    )
    return CostGaps(worst_generator=worst, deviation=deviation)


def _figures(basis: SeriesBasis, sums: FloatArray, gaps: CostGaps) -> dict[str, float | None]:
    """Return the figures that the band is about, of all hours; those of other bands are None."""
    target, dispatch, optimal = map(float, sums)
    figures = {
        "cost_target": target,
        "cost_dispatch": dispatch,
        "cost_gap_dispatch": relative_gap(dispatch, target),
        "worst_generator_gap": gaps.worst_generator,
        "cost_optimal": optimal,
        "cost_gap_optimal": relative_gap(optimal, target),
    }
    return {
        **(figures if basis.band.on_costs else dict.fromkeys(figures)),
        "largest_deviation": None if basis.band.value != "dispatch" else gaps.deviation,
    }


def _stated_series(
    basis: SeriesBasis,
    left_out: list[str],
    endings: dict[str, int],
    network_hour: str,
    worst_hour: str,
    mean_violation: float,
    excess: float | None,
    smoothing_effect: str,
) -> StatedSeries:
    mechanism = basis.mechanism
    return StatedSeries(
        promise=mechanism.promise.kind.value,
        first_hour=hour_text(mechanism.first_hour),
        hours=mechanism.hours,
        left_out=left_out,
        endings=endings,
        basis_digest=mechanism.basis_digest,
        noise_scales=list(mechanism.scales),
        smoothing=basis.smoothing,
        smoothing_effect=smoothing_effect,
        network_hour=network_hour,
        worst_hour=worst_hour,
        mean_violation=mean_violation,
        has_ramps=basis.ramps is not None,
        ramp_excess=0.0 if excess is None and basis.ramps is not None else excess,
    )


def _certificate(
    basis: SeriesBasis,
    fidelity: Mapping[str, object],
    series: StatedSeries,
    targets: FloatArray,
    solves: Sequence[StatedSolve],
) -> Certificate:
    network, promise, band = basis.network, basis.promise, basis.band
    done = PostProcessing(basis.limits)
    source = target_source(network.has_costs)
    rows = (network.generators.row + 1).tolist()
    return Certificate(
        format="gridveil-certificate",
        version=VERSION,
        private_as_a_whole=True,
        statement=series_statement(promise),
        kept=[],
        release_id=basis.release_id,
        network=network.name,
        base_mva=network.base_mva,
        drawn_at=basis.entry.drawn_at,
        software=software_of(agents_on_gpu=False, solves=solves, further=SERIES_PACKAGES),
        solves=list(solves),
        protection=_protection(basis),
        post_processing=_post_processing(done, network),
        ledgers=[
            LedgerRow(
                ledger=seal.ledger,
                opened_at=seal.opened_at,
                row=seal.row,
                head=seal.head,
                earlier=FIRST_RELEASE if seal.is_first else EARLIER_RELEASES,
            )
            for seal in basis.entry.seals
        ],
        invariants=[
            Invariant(what=what, provenance=provenance)
            for what, provenance in series_invariants(
                target_name(band.value),
                source,
                basis.ratings_source,
                done.limits is not None,
                done.power_factor,
                basis.ramps is not None,
            )
        ],
        costs=StatedCosts(
            provenance="private",
            source=source,
            generators=rows,
            dollars_per_hour=targets.tolist(),
            true_cost=None,
        )
        if band.on_costs
        else None,
        dispatch=StatedDispatch(
            provenance="private",
            source=source,
            generators=rows,
            megawatts=(targets * network.base_mva).tolist(),
        )
        if band.value == "dispatch"
        else None,
        fidelity=Fidelity.model_validate(
            {
                "promise": basis.method.promise(basis.beta, band),
                "method": basis.method.name,
                "band": band.value,
                "beta": basis.beta,
                "status": "optimal",
                **fidelity,
            }
        ),
        series=series,
        load_buses=network.load_buses,
        files={},
    )


def _protection(basis: SeriesBasis) -> Protection:
    mechanism, entry, promise = basis.mechanism, basis.entry, basis.promise
    is_energy = promise.kind is SeriesPromiseKind.ENERGY
    return Protection.model_validate(
        {
            "promise": promise.sentence(),
            "unit": series_unit(promise.kind),
            "mechanism": MECHANISM,
            "epsilon": float(promise.epsilon),
            "epsilon_costs": float(basis.total_epsilon),
            "delta": 0.0,
            "kind": "energy" if is_energy else "absolute",
            "alpha_pu": None,
            "alpha_mva": None,
            "metric": METRICS[promise.kind],
            "grid_step_pu": float(min(mechanism.steps)),
            "noise_scale_pu": None,
            "parameters": {**mechanism.specification(), **further_parameters(basis)},
            "bounds": "",
            "caution": "",
            "cumulative_epsilon": float(entry.cumulative),
            "cumulative_distance_mva": None if entry.distance is None else float(entry.distance),
            "cumulative_differs": entry.distances_differ,
            "also_spent": {metric: float(most) for metric, most in entry.elsewhere.items()},
            "entropy": Origin.EXACT.value,
            "loads": len(basis.network.loads),
            "not_covered": series_not_covered(),
        }
    )


def further_parameters(basis: SeriesBasis) -> dict[str, str]:
    """Return the parameters that are not those of the mechanism of the loads."""
    found = {}
    if basis.ratings_source:
        found["ratings_source"] = basis.ratings_source
    if basis.total_epsilon:
        found["total_epsilon"] = str(basis.total_epsilon)
    return found


def _post_processing(done: PostProcessing, network: Network) -> StatedPostProcessing | None:
    sentences = post_processing_sentences(
        done.consumer_count, len(network.loads), done.power_factor, corrects_bias=False
    )
    if not sentences:
        return None
    return StatedPostProcessing(
        sentences=sentences,
        bias_corrected=False,
        consumers=done.consumers(network.load_buses),
        power_factor=done.power_factor,
    )


def _ramps_file(basis: SeriesBasis) -> bytes:
    """Return the ramp limits as `read_ramps` reads them."""
    assert basis.ramps is not None
    rows = [
        (int(row) + 1, float(ramp) * basis.network.base_mva)
        for row, ramp in zip(basis.network.generators.row, basis.ramps, strict=True)
        if np.isfinite(ramp)
    ]
    return csv_bytes(RAMP_COLUMNS, rows)
