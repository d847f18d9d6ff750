"""The part of a report about generators: what they cost beside O*, or generate beside p*."""

from collections.abc import Sequence

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.fidelity.bands import shares_of_range
from gridveil.publication.case_file import PublishedCase
from gridveil.publication.certificate import Certificate, Fidelity, StatedCosts, StatedDispatch
from gridveil.publication.report.charts import bands
from gridveil.publication.report.detail import Detail
from gridveil.publication.report.html import details, escape
from gridveil.publication.statements import TARGET_PRIVATE, TARGET_PUBLISHED

_NEGLIGIBLE = 1e-6
"""Share of all costs below which a generator is not drawn."""
_DRAWN_GENERATORS = 40


def band_card(fidelity: Fidelity) -> list[tuple[str, str]]:
    """Return the card of the summary that says what came of the band; none without a band."""
    if fidelity.cost_gap_optimal is not None:
        return [(f"{fidelity.cost_gap_optimal:+.2%}", "optimal cost against the costs O*")]
    if fidelity.largest_deviation is not None:
        return [
            (
                f"{fidelity.largest_deviation:.2%}",
                "of its range: largest deviation from dispatch p*",
            )
        ]
    return []


def dispatch_section(certificate: Certificate, published: PublishedCase, detail: Detail) -> str:
    """Return the section, by what the band is about."""
    if certificate.costs is not None:
        return _costs(certificate, published, certificate.costs, detail)
    if certificate.dispatch is not None:
        return _outputs(certificate, published, certificate.dispatch, detail)
    heads = ("generator", "MW", "MVAr")
    rows = [(name, p, q) for name, p, q in zip(*_columns(published), strict=True)]
    return (
        "<section><h2>What do generators give?</h2><p>Nothing is promised about the dispatch: the "
        "published one is one with which the network works.</p>"
        f"{_table(published, heads, rows, detail)}</section>"
    )


def _outputs(
    certificate: Certificate, published: PublishedCase, dispatch: StatedDispatch, detail: Detail
) -> str:
    """Return what generators give beside p*, as a chart and a table."""
    network, base, of = published.network, published.network.base_mva, certificate.fidelity
    target = np.array(dispatch.megawatts)
    shares = shares_of_range(network.generators, published.point.p, target / base)
    names, p, q = _columns(published)
    tips = [
        f"{name}: {mw} MW against p* {wanted:,.2f} MW ({share:+.3%} of its range)"
        for name, mw, wanted, share in zip(names, p, target, shares, strict=True)
    ]
    width = network.generators.p_max - network.generators.p_min
    drawn = _largest(np.flatnonzero(np.isfinite(width) & (width > 0)), width)
    chart = bands(
        "Output of each generator less p*, as a share of its range, with the allowed band",
        [f"bus {network.buses.number[network.generators.bus[g]]}" for g in drawn],
        shares[drawn],
        of.beta,
        [tips[g] for g in drawn],
    )
    rows = [
        (name, mw, f"{wanted:,.2f}", f"{share:+.3%}", mvar)
        for name, mw, wanted, share, mvar in zip(names, p, target, shares, q, strict=True)
    ]
    heads = ("generator", "MW", "p*, MW", "off, of its range", "MVAr")
    cut = f" The {len(drawn)} of {len(names)} with the widest range are drawn."
    about = ""
    if dispatch.provenance == TARGET_PRIVATE:
        about = " It is an estimate, and the band is around it."
    again = ""
    if of.proportional_deviation is not None:
        again = (
            " The proportional dispatch of the released network is within "
            f"{of.proportional_deviation:.3%} of a generator's range of p*."
        )
    return (
        f"<section><h2>Do generators give what they should?</h2><p>The dispatch p* is "
        f"{escape(_described(dispatch))}.{about}</p><p>Every output of the published dispatch is "
        f"within {_given(of.largest_deviation):.3%} of the generator's range of p*; the shaded "
        f"band is ±{of.beta:.3g} of it.{again}{cut if len(drawn) < len(names) else ''}</p>"
        f"{chart}{_table(published, heads, rows, detail)}</section>"
    )


def _costs(
    certificate: Certificate, published: PublishedCase, costs: StatedCosts, detail: Detail
) -> str:
    """Return what generators cost beside O*, as a chart and a table."""
    network, base = published.network, published.network.base_mva
    target = np.array(costs.dollars_per_hour)
    cost = network.generators.costs(published.point.p)
    gaps = np.divide(cost - target, np.abs(target), out=np.zeros_like(cost), where=target != 0)
    names = [network.generator_name(g) for g in range(len(cost))]
    short = [f"bus {network.buses.number[bus]}" for bus in network.generators.bus]
    tips = [
        f"{name}: {c:,.2f} $/h against O* {t:,.2f} ({gap:+.3%}), {p * base:,.1f} MW"
        for name, c, t, gap, p in zip(names, cost, target, gaps, published.point.p, strict=True)
    ]
    kept, beta = certificate.fidelity, certificate.fidelity.beta
    true_cost = costs.true_cost
    about = "" if true_cost is None else f" {true_cost.meaning}"
    if costs.provenance == TARGET_PRIVATE:
        about = f" They are an estimate, and β is relative to it.{about}"
    costly = np.flatnonzero(np.abs(target) > _NEGLIGIBLE * np.abs(target).sum())
    order = _largest(costly, target)
    chart = bands(
        "Cost of each generator relative to its cost O*, with the allowed band",
        [short[g] for g in order],
        gaps[order],
        beta,
        [tips[g] for g in order],
    )
    rows = [
        (name, f"{c:,.2f}", f"{t:,.2f}", f"{gap:+.3%}", f"{p * base:,.2f}", f"{q * base:,.2f}")
        for name, c, t, gap, p, q in zip(
            names, cost, target, gaps, published.point.p, published.point.q, strict=True
        )
    ]
    cut = f" The {len(order)} dearest of {len(cost)} are drawn." if len(cost) > len(order) else ""
    heads = ("generator", "cost, $/h", "O*, $/h", "gap", "MW", "MVAr")
    return (
        f"<section><h2>Do generators cost what they should?</h2><p>The costs O* are "
        f"{escape(costs.source)}.{escape(about)}</p><p>The published dispatch costs "
        f"{_given(kept.cost_dispatch):,.2f} $/h ({_given(kept.cost_gap_dispatch):+.3%} against "
        f"O*), the optimal one {_given(kept.cost_optimal):,.2f} $/h "
        f"({_given(kept.cost_gap_optimal):+.3%}). The shaded band is "
        f"±{beta:.3g}.{cut}</p>"
        f"{chart}{_table(published, heads, rows, detail)}</section>"
    )


def _table(
    published: PublishedCase, heads: Sequence[str], rows: Sequence[Sequence[str]], detail: Detail
) -> str:
    """Return a table of generators; of many, those with the largest outputs, these first."""
    note, p = "", published.point.p
    if len(rows) > detail.rows:
        rows = [rows[g] for g in _largest(np.arange(len(p)), p, detail.rows)]
        note = f"The {detail.rows:,} largest by MW. All generators stand in network.m."
    return details("Generators as a table", heads, rows, note)


def _columns(published: PublishedCase) -> tuple[list[str], list[str], list[str]]:
    """Return name, MW and MVAr of every generator."""
    network, point = published.network, published.point
    names = [network.generator_name(g) for g in range(len(point.p))]
    p, q = ([f"{value * network.base_mva:,.2f}" for value in of] for of in (point.p, point.q))
    return names, p, q


def _described(dispatch: StatedDispatch) -> str:
    published = dispatch.provenance == TARGET_PUBLISHED
    return f"published: {dispatch.source}" if published else dispatch.source


def _largest(indices: IntArray, sizes: FloatArray, most: int = _DRAWN_GENERATORS) -> IntArray:
    """Return the indices of the largest, these first."""
    return indices[np.argsort(-np.abs(sizes[indices]), kind="stable")][:most]


def _given(figure: float | None) -> float:
    """Return a figure that the schema demands."""
    assert figure is not None
    return figure
