"""The report of a release as one HTML page: for a manager on top, for an engineer below.

Everything on it follows from the other files of the release, so that whoever verifies one makes its
page again and compares.
"""

from collections.abc import Sequence

import numpy as np

from gridveil.admm.history import History
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.opf.operating_point import complex_flows
from gridveil.privacy.calibration import exact
from gridveil.publication.case_file import PublishedCase
from gridveil.publication.certificate import Certificate, Protection
from gridveil.publication.folder import LOADS
from gridveil.publication.report.charts import HOT, Curve, bars, curves, network_graph
from gridveil.publication.report.detail import SHORT, Detail
from gridveil.publication.report.dispatch_section import band_card, dispatch_section
from gridveil.publication.report.html import details, escape, html_page, table
from gridveil.publication.spent import spent_sentence

_RATED = "share"
"""The parameter of a mechanism whose distances are a share of public ratings."""


def report_page(
    certificate: Certificate,
    published: PublishedCase,
    place: FloatArray,
    history: History | None,
    detail: Detail = SHORT,
) -> bytes:
    """Return the page.

    Args:
        certificate: That of the release; its digests play no part.
        published: The released network.
        place: Where to draw each bus, of shape (buses, 2).
        history: That of the agents, if they solved the fidelity phase.
        detail: Sizes up to which everything is shown one by one.
    """
    body = "".join(
        [
            _summary(certificate),
            _guarantee(certificate),
            dispatch_section(certificate, published, detail),
            network_section(published, place, detail),
            lines_section(published, detail),
            _convergence(certificate.fidelity.method, history),
            checks_section(certificate),
        ]
    )
    return html_page(f"Private release of {certificate.network}", body)


def _summary(certificate: Certificate) -> str:
    protection, fidelity = certificate.protection, certificate.fidelity
    alpha = _hidden(protection)
    cards = [
        (f"ε = {protection.epsilon:g}", "privacy budget of this release"),
        (alpha, "difference that is hard to tell"),
        (f"{protection.loads}", "loads, each with its own noise"),
        *band_card(fidelity),
        (f"{fidelity.max_violation:.0e} p.u.", "largest violation of any limit"),
        (f"ε = {protection.cumulative_epsilon:g}", "spent per load, all such releases together"),
    ]
    items = "".join(f"<li><b>{escape(b)}</b><span>{escape(s)}</span></li>" for b, s in cards)
    return (
        '<header><p class="kicker">Private release of a power network</p>'
        f"<h1>{escape(certificate.network)}</h1>"
        f'<p class="{"whole" if certificate.private_as_a_whole else "alarm"}">'
        f"{escape(certificate.statement)}</p>"
        "<p>The loads of this network are not the true ones. Each was changed at random by its "
        "owner, so that the true value is hard to tell from a similar one, and then moved just far "
        "enough that the network works: power flows, no limit is broken, and "
        f"{escape(fidelity.promise)}.{escape(_post_processing(certificate))}</p>"
        f'<ul class="cards">{items}</ul></header>'
    )


def _post_processing(certificate: Certificate) -> str:
    """Return what was done to the private loads, as sentences that follow others."""
    done = certificate.post_processing
    return "" if done is None else f" {' '.join(done.sentences)}"


def _guarantee(certificate: Certificate) -> str:
    protection = certificate.protection
    caution = f'<p class="warn">{escape(protection.caution)}</p>' if protection.caution else ""
    return promise_section(certificate, _distance_rows(protection), caution)


def promise_section(
    certificate: Certificate, particulars: Sequence[tuple[str, str]], caution: str = ""
) -> str:
    """Return what is promised, what is public, and all parameters.

    Args:
        certificate: That of the release.
        particulars: Parameters of its kind of promise, with their values.
        caution: What to beware of, as HTML.
    """
    protection = certificate.protection
    rows = [
        ("unit of protection", protection.unit),
        ("mechanism", protection.mechanism),
        ("ε, δ", f"{protection.epsilon:g}, {protection.delta:g}"),
        *particulars,
        ("entropy", protection.entropy),
        ("spent per load", spent_sentence(protection)),
        ("drawn at", certificate.drawn_at),
        *(
            ("ledger", f"row {of.row} of {of.ledger}, opened at {of.opened_at}; {of.earlier}")
            for of in certificate.ledgers
        ),
    ]
    known = [(invariant.what, invariant.provenance) for invariant in certificate.invariants]
    uncovered = "".join(f"<li>{escape(text)}</li>" for text in protection.not_covered)
    return (
        f"<section><h2>What is promised</h2><blockquote>{escape(protection.promise)}</blockquote>"
        f"{caution}<p>This holds against anyone, whatever they know and compute. It does not "
        "cover:</p>"
        f"<ul>{uncovered}</ul><p>Public, and where it comes from:</p>"
        f"{table(('what', 'where it comes from'), known)}"
        f"{details('All parameters', ('parameter', 'value'), rows)}</section>"
    )


def _hidden(protection: Protection) -> str:
    """Return which change of a load is hidden, in a few words."""
    if protection.relative_distance is not None:
        return f"{100 * protection.relative_distance:g} % of a load"
    if protection.alpha_mva is not None:
        return f"{protection.alpha_mva:g} MVA"
    if _RATED in protection.parameters:
        return f"{_rated_share(protection)} of each rating"
    return "any two values within public bounds"


def _rated_share(protection: Protection) -> str:
    """Return the share of ratings that is hidden; whatever a certificate says, it is a text."""
    try:
        return f"{float(100 * exact(protection.parameters[_RATED], 'share')):g} %"
    except GridveilError:
        return "a share"


def _distance_rows(protection: Protection) -> list[tuple[str, str]]:
    """Return what the distance is, and grid and scale in its unit."""
    unit, scale = "p.u.", protection.noise_scale_pu
    mva = f"{_or_none(protection.alpha_pu)} p.u., {_or_none(protection.alpha_mva)} MVA"
    rows = [("distance α", mva)]
    shown = f"{_or_none(scale)} {unit}"
    if protection.relative_distance is not None:
        unit = "in the coordinates of the mechanism"
        floor = f"{_or_none(protection.floor_pu)} p.u., {_or_none(protection.floor_mva)} MVA"
        rows = [("relative distance", f"{protection.relative_distance:g}"), ("floor", floor)]
        shown = f"{_or_none(scale)} {unit}"
    elif _RATED in protection.parameters:
        source = protection.parameters.get("source", "")
        rows = [("distance α", f"{_rated_share(protection)} of each rating"), ("ratings", source)]
        shown = "one for each load"
    return [
        *rows,
        ("distance counted as", protection.metric),
        ("public grid", f"{protection.grid_step_pu:g} {unit}"),
        ("noise scale", shown),
    ]


def network_section(
    published: PublishedCase, place: FloatArray, detail: Detail, all_loads: str = LOADS
) -> str:
    """Return the map of the network, and its loads as a table; `all_loads` is the file of all."""
    network = published.network
    loading, flow = _loading(published)
    p, q = network.bus_load()
    chart = network_graph(
        "The network as a graph; buses by the size of their released load, lines by loading",
        place,
        np.stack([network.lines.from_bus, network.lines.to_bus], axis=1).astype(float),
        np.nan_to_num(loading),
        np.hypot(p, q),
        None if len(place) > detail.shapes else _network_tips(published, loading, flow),
    )
    heads, loads, note = ("bus", "P, MW", "Q, MVAr"), network.case.loads or (), ""
    if len(loads) > detail.rows:
        squares = np.array([load.p_mw * load.p_mw + load.q_mvar * load.q_mvar for load in loads])
        order = np.argsort(-squares, kind="stable")[: detail.rows].tolist()
        loads = tuple(loads[i] for i in order)
        note = f"The {detail.rows:,} largest loads. All loads stand in {all_loads}."
    rows = [
        (
            load.key.removeprefix("bus ") + ("" if load.in_service else " (out of service)"),
            f"{load.p_mw:,.3f}",
            f"{load.q_mvar:,.3f}",
        )
        for load in loads
    ]
    return (
        "<section><h2>The released loads</h2><p>Larger dots are larger loads; dots without colour "
        'have none.</p><p class="legend"><span class="key wirekey">below 70 %</span>'
        '<span class="key orange">above 70 %</span><span class="key red">above 95 % of its rating'
        f"</span></p>{chart}{details('Loads as a table', heads, rows, note)}</section>"
    )


def _network_tips(
    published: PublishedCase, loading: FloatArray, flow: FloatArray
) -> tuple[list[str], list[str]]:
    """Return what is read at each bus and at each line."""
    network, base, voltages = published.network, published.network.base_mva, published.point.v
    bus_tips = [
        f"bus {number}: load {a * base:,.1f} MW, {b * base:,.1f} MVAr; voltage {v:.4f} p.u."
        for number, a, b, v in zip(network.buses.number, *network.bus_load(), voltages, strict=True)
    ]
    line_tips = [
        f"{network.line_name(i)}: {flow[i] * base:,.1f} MVA, {_share(loading[i])}"
        for i in range(len(flow))
    ]
    return bus_tips, line_tips


def lines_section(published: PublishedCase, detail: Detail) -> str:
    """Return how loaded every line with a rating is."""
    network, base = published.network, published.network.base_mva
    loading, flow = _loading(published)
    limited = np.flatnonzero(np.isfinite(loading))
    order = limited[np.argsort(-loading[limited], kind="stable")]
    is_read = len(order) <= detail.shapes
    rows = [
        (
            network.line_name(i),
            f"{flow[i] * base:,.2f}",
            f"{network.lines.rate[i] * base:,.1f}",
            f"{loading[i]:.1%}",
        )
        for i in (order if is_read else order[: detail.rows])
    ]
    if not len(order):
        return (
            "<section><h2>Line loading</h2><p>No line of this network has a rating.</p></section>"
        )
    tips = [f"{name}: {mva} of {rate} MVA, {share}" for name, mva, rate, share in rows]
    note = f"The {detail.rows:,} most loaded lines. All lines stand in network.m."
    chart = bars(
        "Loading of every line, sorted",
        "share of rating",
        loading[order],
        1.0,
        tips if is_read else None,
    )
    hot = int((loading[order] > HOT).sum())
    heads = ("line", "MVA", "rating, MVA", "loading")
    note = note if len(order) > detail.rows else ""
    table_of_lines = details("Lines as a table", heads, rows[: detail.rows], note)
    return (
        f"<section><h2>Line loading</h2><p>{len(order)} lines have a rating; {hot} carry more than "
        f"95 % of it, none more than it.</p>{chart}{table_of_lines}"
        "</section>"
    )


def _convergence(method: str, history: History | None) -> str:
    if history is None or not len(history):
        return (
            "<section><h2>How the loads were found</h2><p>The fidelity phase was solved by the "
            f"method {escape(method)}. No history of agents is published.</p></section>"
        )
    residuals = curves(
        "Primal and dual residual over the iterations",
        "p.u.",
        [Curve("primal", history.primal, "blue"), Curve("dual", history.dual, "orange")],
        logarithmic=True,
    )
    others = [
        curves(title, unit, [Curve(name, values, colour)], logarithmic)
        for title, unit, name, values, colour, logarithmic in (
            ("Penalty over the iterations", "ρ", "ρ", history.rho, "purple", True),
            ("Dispatch cost over the iterations", "$/h", "cost", history.cost, "green", False),
        )
        if np.isfinite(values).all()  # unknown in a federation
    ]
    shown = np.unique(np.linspace(0, len(history) - 1, min(len(history), 100)).astype(int))
    rows = [
        (
            str(i + 1),
            f"{history.primal[i]:.3e}",
            f"{history.dual[i]:.3e}",
            _or_dash(history.rho[i], ".4g"),
            _or_dash(history.cost[i], ",.2f"),
        )
        for i in shown
    ]
    heads = ("iteration", "primal", "dual", "ρ", "cost, $/h")
    return (
        f"<section><h2>How the agents agreed</h2><p>{len(history):,} iterations of ADMM "
        f"among loads, generators, lines and buses.</p>{residuals}{''.join(others)}"
        f"{details('Iterations as a table', heads, rows)}</section>"
    )


def checks_section(certificate: Certificate) -> str:
    """Return what can be checked, and what has to be believed."""
    broken = [
        (name.replace("_", " "), f"{value:.2e}")
        for name, value in certificate.fidelity.violations.model_dump().items()
    ]
    versions = sorted(certificate.software.items())
    solves = [(of.what, f"{of.solver} {of.version}", of.device) for of in certificate.solves or ()]
    solved = details("Solvers", ("what was solved", "by", "on"), solves) if solves else ""
    return (
        "<section><h2>Check it yourself</h2><p><code>gridveil verify</code> on this folder "
        "recomputes the figures, with an AC-OPF of its own, makes this page again, and says which "
        "theorem the promise follows from. Some things only the owner can know, and have to be "
        "believed: that the noise was drawn as stated, what was released of these loads before, "
        "and where published costs or outputs come from. Without a signature, anyone could have "
        f"written them.</p>{table(('constraint', 'largest violation, p.u. or radians'), broken)}"
        f"{details('Software', ('package', 'version'), versions)}{solved}</section>"
    )


def _loading(published: PublishedCase) -> tuple[FloatArray, FloatArray]:
    """Return each line's share of its rating (NaN without one) and its larger |S|, in p.u."""
    at_from, at_to = complex_flows(published.network, published.point)
    flow = np.maximum(np.abs(at_from), np.abs(at_to))
    rate = published.network.lines.rate
    return np.where(np.isfinite(rate), flow / rate, np.nan), flow


def _share(loading: float) -> str:
    return "no rating" if np.isnan(loading) else f"{loading:.0%} of its rating"


def _or_dash(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "–"


def _or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
