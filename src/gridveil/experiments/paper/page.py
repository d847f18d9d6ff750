"""The page of a reproduction: every table and figure, our result beside the paper's."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gridveil.experiments.paper.definitions import Definition, FigureKind
from gridveil.experiments.paper.figure_result import FigureResult
from gridveil.experiments.run import Row
from gridveil.publication.report.html import details, html_page, table

_MOST_ROWS = 200


@dataclass(frozen=True, eq=False)
class ReproducedFigure:
    """A definition, our result, and its drawing as PNG."""

    definition: Definition
    result: FigureResult
    png: bytes


def reproduction_page(
    figures: Sequence[ReproducedFigure], replaced: Mapping[str, str | None]
) -> bytes:
    """Return the page; `replaced` names the replacement of every case that is not available."""
    names = "".join(
        f'<li><a href="#{one.definition.name}">{escape(one.definition.title)}</a></li>'
        for one in figures
    )
    head = (
        '<header><p class="kicker">Reproduction</p><h1>The paper beside ours</h1><p>The tables and '
        "figures of <i>Privacy-Preserving Obfuscation for Distributed Power Systems</i>, run "
        "again: with the paper's rule for the penalty ρ (policy <code>paper</code>) and with ours "
        "(<code>fast</code>), on the same noise. Columns the paper lacks: the distance to the "
        "central solution, the true gap of the optimal cost, and the ε an audit finds.</p>"
        f"{_replaced(replaced)}<ul>{names}</ul></header>"
    )
    return html_page("Reproduction of the paper", head + "".join(map(_section, figures)))


def _replaced(replaced: Mapping[str, str | None]) -> str:
    if not replaced:
        return "<p>All networks are the paper's own (NESTA).</p>"
    return f'<p class="warn">{escape(replacement_note(replaced))}</p>'


def replacement_note(replaced: Mapping[str, str | None]) -> str:
    """Return a sentence that names the replacements of the paper's cases."""
    instead = [f"{case} by {other}" for case, other in replaced.items() if other]
    absent = [case for case, other in replaced.items() if not other]
    parts = [
        "Not all NESTA cases are there (GRIDVEIL_CASES names their folder)",
        f"the PGLib case of the same network stands in for {len(instead)}: {', '.join(instead)}"
        if instead
        else "",
        f"left out, for PGLib has none: {', '.join(absent)}" if absent else "",
    ]
    return "; ".join(filter(None, parts)) + "."


def _section(one: ReproducedFigure) -> str:
    definition, result = one.definition, one.result
    image = base64.b64encode(one.png).decode()
    theirs = escape(definition.paper_finding.strip())
    ours = "".join(f"<li>{escape(text)}</li>" for text in result.findings)
    remarks = "".join(f"<li>{escape(text)}</li>" for text in definition.remarks)
    return (
        f'<section id="{definition.name}"><h2>{escape(definition.title)}</h2>'
        f'<div class="beside"><div><h3>The paper</h3><p>{theirs}</p>'
        f"<p><small>{escape(definition.caption)}</small></p></div>"
        f"<div><h3>Ours</h3><ul>{ours}</ul></div></div>"
        f'<figure><img alt="{escape(definition.title)}" src="data:image/png;base64,{image}">'
        f"</figure>{_table(definition, result.rows)}<h3>What differs, and why</h3>"
        f"<ul>{remarks}</ul><p><small>Files: {definition.name}.csv, .png, .pdf</small></p>"
        "</section>"
    )


def _table(definition: Definition, rows: Sequence[Row]) -> str:
    if definition.kind is FigureKind.CONVERGENCE:
        return _convergence(rows)
    same = {name for name in rows[0] if len({row[name] for row in rows}) == 1}
    heads = [name for name in rows[0] if name not in same]
    few = rows[:: max(1, -(-len(rows) // _MOST_ROWS))]
    cut = "" if len(few) == len(rows) else f", {len(few)} of {len(rows):,} rows"
    body = [[cell(row[name]) for name in heads] for row in few]
    shown = [name.replace("_", " ") for name in heads]
    return details(f"The numbers{cut}", shown, body)


def _convergence(rows: Sequence[Row]) -> str:
    """Return the table as the paper prints it, the printed number in brackets behind ours."""
    pairs = (
        ("primal", "primal_before_boosting", "primal"),
        ("primal*", "primal_end", "primal_boosted"),
        ("dual", "dual_before_boosting", "dual"),
        ("dual*", "dual_end", "dual_boosted"),
    )
    noises = len({row["calibration"] for row in rows}) > 1
    heads = [
        "case", *(["noise"] if noises else []), "policy", *(name for name, _, _ in pairs), "time",
        "iterations", "distance to central", "gap of dispatch", "gap of optimum",
        "the same, bilevel", "audited ε",
    ]  # fmt: skip
    body = []
    for row in rows:
        printed = row["policy"] == "paper" and row["calibration"] == rows[0]["calibration"]
        brackets = (
            {name: f" ({cell(row[f'paper_{name}'])})" for _, _, name in pairs} if printed else {}
        )
        minutes = f" ({cell(row['paper_minutes'])} min)" if printed else ""
        body.append(
            [
                row["case"].removeprefix("nesta_"),
                *([row["calibration"]] if noises else []),
                row["policy"],
                *(
                    "" if row[ours] is None else f"{row[ours]:.1e}{brackets.get(name, '')}"
                    for _, ours, name in pairs
                ),
                f"{row['seconds']:.2f} s{minutes}",
                f"{row['iterations']:,}",
                f"{row['distance_to_central']:.1e}",
                f"{row['cost_gap_dispatch']:+.2%}",
                *(
                    "none" if row[name] is None else f"{row[name]:+.2%}"
                    for name in ("cost_gap_optimal", "cost_gap_optimal_bilevel")
                ),
                f"≥ {row['audited_epsilon']:.2f}",
            ]
        )
    return (
        "<p><small>In brackets: the paper. A star: after boosting, or at the end.</small></p>"
        + table(heads, body)
    )


def cell(value: object) -> str:
    """Return a value as a short text."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
