"""The owner's own report, with raw loads: for a private folder, never beside a release.

It is the paper's scatter of original, noisy and released loads, and the true optimal cost beside
what the release says of it.
"""

import numpy as np

from gridveil.fidelity.result import relative_gap
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf
from gridveil.privacy.phase import NoisyLoads
from gridveil.publication.certificate import Certificate, TrueCost
from gridveil.publication.report.charts import Curve, scatter
from gridveil.publication.report.detail import SHORT, Detail
from gridveil.publication.report.html import details, escape, html_page

WARNING = "contains raw data, do not publish"
_LARGEST_MW = 1e15
"""Loads beyond this are shown as this: no chart could hold them."""


def private_page(
    network: Network,
    noisy: NoisyLoads,
    released: Network,
    certificate: Certificate,
    detail: Detail = SHORT,
) -> bytes:
    """Return the page; idle loads stand among the others if the release lists them.

    Args:
        network: The network with the raw loads.
        noisy: The private loads.
        released: The network with the released loads.
        certificate: That of the release.
        detail: Sizes up to which everything is shown one by one.
    """
    largest, listed = _LARGEST_MW / network.base_mva, network.listed_loads
    out_of_service = released.idle_loads.values if network.lists_idle_loads else np.zeros((0, 2))
    raw, drawn, out = (
        np.clip(loads, -largest, largest) * network.base_mva
        for loads in (
            listed.values,
            np.stack([noisy.p, noisy.q], axis=1),
            np.concatenate([released.loads.values, out_of_service]),
        )
    )
    labels, parts, is_read = listed.labels, [], len(raw) <= detail.shapes
    for column, (name, unit) in enumerate((("P", "MW"), ("Q", "MVAr"))):
        tips = [
            f"{label}: {name} raw {a:,.2f}, noisy {b:,.2f}, released {c:,.2f} {unit}"
            for label, a, b, c in zip(
                labels, raw[:, column], drawn[:, column], out[:, column], strict=True
            )
        ]
        sets = [
            Curve("noisy", drawn[:, column], "orange"),
            Curve("released", out[:, column], "blue"),
        ]
        chart = scatter(
            f"Noisy and released {name} of every load over its raw value",
            (f"raw {name}, {unit}", f"noisy and released, {unit}"),
            raw[:, column],
            sets,
            tips if is_read else None,
        )
        parts.append(f"<section><h2>{name} of every load</h2>{chart}</section>")
    shown, note = range(len(raw)), ""
    if len(raw) > detail.rows:
        sizes = (raw * raw).sum(axis=1)
        shown = np.argsort(-sizes, kind="stable")[: detail.rows].tolist()
        note = f"The {detail.rows:,} largest loads. All stand in loads.csv, as released."
    rows = [
        (
            labels[i].removeprefix("bus "),
            *(f"{value:,.3f}" for of in (raw, drawn, out) for value in of[i]),
        )
        for i in shown
    ]
    summary = f"{'All' if not note else 'Largest'} loads as a table, in MW and MVAr"
    heads = ("bus", "raw P", "raw Q", "noisy P", "noisy Q", "released P", "released Q")
    moved = np.linalg.norm(drawn - raw, axis=1), np.linalg.norm(out - raw, axis=1)
    body = (
        f'<header><p class="alarm">{escape(WARNING)}</p><h1>{escape(network.name)}</h1>'
        f"<p>Half of the loads moved by less than {np.median(moved[0]):,.1f} MVA through the "
        f"noise, and by less than {np.median(moved[1]):,.1f} MVA in all. On the dashed line a "
        f"value is what it was.</p>"
        f"{details(summary, heads, rows, note)}</header>"
        f"{_true_cost(network, certificate)}"
    )
    return html_page(f"{WARNING}: {network.name}", body + "".join(parts))


def _true_cost(network: Network, certificate: Certificate) -> str:
    """Return what the true network costs at its cheapest, beside what the release says of costs."""
    if certificate.costs is None or certificate.fidelity.cost_optimal is None:
        return ""
    text = _compared(network, certificate.fidelity.cost_optimal, certificate.costs.true_cost)
    return f"<section><h2>The true optimal cost</h2><p>{escape(text)}</p></section>"


def _compared(network: Network, stated: float, interval: TrueCost | None) -> str:
    """Say what the true network costs at its cheapest, and whether the interval holds it."""
    released, true = f"Of the release: {stated:,.2f} $/h", solve_acopf(network)
    if not true.status.solved:
        return f"Of the true network: {true.status.value}. {released}."
    gap = f" ({relative_gap(stated, true.cost):+.2%})" if true.cost else ""
    text = f"Of the true network: {true.cost:,.2f} $/h. {released}{gap}."
    if interval is None:
        return f"{text} The release gives no interval for it."
    holds = "holds" if interval.low <= true.cost <= interval.high else "does not hold"
    given = f"{interval.low:,.6g} to {interval.high:,.6g} $/h"
    return f"{text} The release gives {given}, which {holds}."
