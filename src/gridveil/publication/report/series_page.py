"""The report of a released series as one HTML page.

Everything on it follows from the other files of the release, so that whoever verifies one makes its
page again and compares. The profile of a load is found by a link to its place, without a script.
"""

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.network.series.load_series import hour_text
from gridveil.network.source_loads import numbers_at_buses
from gridveil.publication.case_file import PublishedCase
from gridveil.publication.certificate import Certificate, StatedSeries
from gridveil.publication.report.detail import SHORT
from gridveil.publication.report.dispatch_section import band_card
from gridveil.publication.report.html import escape, html_page, table
from gridveil.publication.report.page import (
    checks_section,
    lines_section,
    network_section,
    promise_section,
)
from gridveil.publication.report.series_charts import profile, small_profile, week_map
from gridveil.publication.series.tables import LOADS, SeriesTables

_MOST_LOADS = 300
"""Loads whose profiles are drawn: the largest."""
_LISTED = 10
_LONGEST_LIST = 200


def series_page(
    certificate: Certificate, published: PublishedCase, tables: SeriesTables, place: FloatArray
) -> bytes:
    """Return the page.

    Args:
        certificate: That of the release; its digests play no part.
        published: The network at the hour of the largest load.
        tables: The tables of the release.
        place: Where to draw each bus, of shape (buses, 2).
    """
    series = certificate.series
    assert series is not None
    body = "".join(
        [
            _summary(certificate, series),
            _guarantee(certificate, series),
            _system(tables),
            _hours(series, tables),
            _loads(tables),
            f"<section><h2>The network at {escape(series.network_hour)}</h2><p>The hour with the "
            "largest load; it stands in network.m.</p></section>",
            network_section(published, place, SHORT, LOADS),
            lines_section(published, SHORT),
            checks_section(certificate),
        ]
    )
    return html_page(f"Private load series of {certificate.network}", body)


def _summary(certificate: Certificate, series: StatedSeries) -> str:
    protection, fidelity = certificate.protection, certificate.fidelity
    cards = [
        (f"{series.hours - len(series.left_out):,}", f"hours from {series.first_hour}"),
        (f"{len(series.left_out)}", "hours left out"),
        (f"ε = {protection.epsilon:g}", f"privacy budget, promise “{series.promise}”"),
        (f"{protection.loads}", "loads, each with its own noise"),
        *band_card(fidelity),
        (f"{fidelity.max_violation:.0e} p.u.", "largest violation of any limit in any hour"),
        (f"ε = {protection.cumulative_epsilon:g}", "spent per load, all such releases together"),
    ]
    items = "".join(f"<li><b>{escape(b)}</b><span>{escape(s)}</span></li>" for b, s in cards)
    done = certificate.post_processing
    also = "" if done is None else f" {' '.join(done.sentences)}"
    return (
        '<header><p class="kicker">Private load series of a power network</p>'
        f"<h1>{escape(certificate.network)}</h1>"
        f'<p class="whole">{escape(certificate.statement)}</p>'
        "<p>The loads of this network are not the true ones. Numbers that describe each load over "
        "time were changed at random by its owner, smoothed with what is public, and moved just "
        "far enough that the network works in every hour: power flows, no limit is broken, and "
        f"{escape(fidelity.promise)}.{escape(also)}</p>"
        f'<ul class="cards">{items}</ul></header>'
    )


def _guarantee(certificate: Certificate, series: StatedSeries) -> str:
    protection = certificate.protection
    particulars = [
        ("hidden", protection.parameters.get("hide", "")),
        ("distance counted as", protection.metric),
        ("smallest grid step", f"{protection.grid_step_pu:g} p.u."),
        ("noise scales", ", ".join(f"{scale:.6g}" for scale in series.noise_scales[:_LISTED])),
        ("basis digest", series.basis_digest),
    ]
    return (
        f"{promise_section(certificate, particulars)}<section><h2>What smoothing did</h2>"
        f"<p>Smoothed with {escape(series.smoothing)}. {escape(series.smoothing_effect)}</p>"
        "</section>"
    )


def _system(tables: SeriesTables) -> str:
    total = _by_hour(tables, tables.loads[..., 0].sum(axis=1))
    ramps = np.abs(np.diff(total))
    peaks = [
        (hour_text(tables.first_hour + int(hour)), f"{total[hour]:,.1f}")
        for hour in _largest(total)
    ]
    steepest = [
        (hour_text(tables.first_hour + int(hour) + 1), f"{total[hour + 1] - total[hour]:+,.1f}")
        for hour in _largest(ramps)
    ]
    return (
        "<section><h2>All loads together</h2>"
        f"{profile('Active power of all loads, hour by hour', 'MW', tables.first_hour, total)}"
        "</section><section><h2>The mean week</h2><p>Larger dots are larger loads; hours are UTC."
        f"</p>{week_map('Mean load by weekday and hour', 'MW', tables.first_hour, total)}</section>"
        "<section><h2>Peaks and ramps</h2>"
        f"{table(('highest hours, UTC', 'MW'), peaks)}"
        f"{table(('largest changes in an hour, UTC', 'MW'), steepest)}</section>"
    )


def _hours(series: StatedSeries, tables: SeriesTables) -> str:
    names = ("violation", "displacement, MVA", "O*, $/h", "dispatch, $/h", "optimum, $/h")
    worst = _hour_row(tables, series.worst_hour)
    counts = [(ending, f"{count:,}") for ending, count in series.endings.items()]
    left_out = ", ".join(series.left_out[:_LONGEST_LIST]) or "none"
    ramps = ""
    if series.ramp_excess is not None:
        ramps = (
            f"<p>Generators have ramp limits; the published dispatch breaks them by at most "
            f"{series.ramp_excess:.1e} p.u.</p>"
        )
    figures = [
        (name, "–" if np.isnan(value) else f"{value:,.6g}")
        for name, value in zip(names, worst, strict=True)
    ]
    violations = tables.figures[:, 0] * 1e9
    return (
        "<section><h2>How the hours were found</h2>"
        f"{table(('ending', 'hours'), counts)}<p>Left out: {escape(left_out)}.</p>{ramps}"
        f"<p>The worst hour is {escape(series.worst_hour)}:</p>"
        f"{table(('figure', 'value'), figures)}"
        f"{profile('Largest violation of any limit', '1e-9 p.u.', tables.first_hour, violations)}"
        "</section>"
    )


def _loads(tables: SeriesTables) -> str:
    """Draw the profile of every load, or of the largest; links lead to them."""
    buses = tables.load_buses.tolist()
    names = [
        f"bus {bus}" if number == 1 else f"bus {bus}, load {number}"
        for bus, number in zip(buses, numbers_at_buses(buses), strict=True)
    ]
    mean = tables.loads[..., 0].mean(axis=0)
    shown = sorted(np.argsort(-np.abs(mean), kind="stable")[:_MOST_LOADS].tolist())
    links = " ".join(f'<a href="#load-{i + 1}">{escape(names[i])}</a>' for i in shown)
    parts = []
    for i in shown:
        p = _by_hour(tables, tables.loads[:, i, 0])
        parts.append(
            f'<h3 id="load-{i + 1}">Load {i + 1}, {escape(names[i])}</h3><p>{np.nanmin(p):,.2f} to '
            f"{np.nanmax(p):,.2f} MW, mean {np.nanmean(p):,.2f} MW</p>"
            f"{small_profile(f'Active power of {names[i]}', p)}"
        )
    of = "" if len(shown) == len(names) else f" The {len(shown)} largest of {len(names)} loads."
    return (
        f"<section><h2>Each load</h2><p>{links}</p><p>Every profile has a scale of its own.{of}</p>"
        f"{''.join(parts)}</section>"
    )


def _by_hour(tables: SeriesTables, values: FloatArray) -> FloatArray:
    """Return values of released hours with NaN for hours left out."""
    found = np.full(tables.hours, np.nan)
    found[tables.released] = values
    return found


def _largest(values: FloatArray) -> FloatArray:
    """Return the places of the largest values."""
    known = np.flatnonzero(np.isfinite(values))
    return np.asarray(known[np.argsort(-values[known], kind="stable")[:_LISTED]])


def _hour_row(tables: SeriesTables, hour: str) -> list[float]:
    """Return the figures of an hour by its text; NaN for one that is none."""
    for at in range(tables.hours):
        if hour_text(tables.first_hour + at) == hour:
            found: list[float] = tables.figures[at].tolist()
            return found
    return [np.nan] * 5
