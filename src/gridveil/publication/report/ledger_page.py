"""The page of a ledger: what every load has spent and may still spend, and the book's history.

It is for the owner and for who may look at the ledger: it holds no load, raw or private.
"""

import numpy as np

from gridveil.privacy.ledger.ledger import NEW, Ledger
from gridveil.privacy.ledger.records import Account, Event
from gridveil.publication.report.charts import budget_bars
from gridveil.publication.report.detail import SHORT, Detail
from gridveil.publication.report.html import details, escape, html_page, table

_SHOWN_EVENTS = 200
_ACCOUNT_HEADS = ("load", "counted", "spent ε", "cap", "left", "releases", "groups")


def ledger_page(ledger: Ledger, detail: Detail = SHORT) -> bytes:
    """Return the page of a ledger; of more accounts than `detail` has rows, the most spent."""
    accounts, groups, history = ledger.accounts(), ledger.groups(), ledger.history()
    names = dict.fromkeys(account.register for account in accounts)
    sections = "".join(
        _register(
            name,
            [account for account in accounts if account.register == name],
            [group for group in groups if group.register == name],
            detail.rows,
        )
        for name in names
    )
    body = _summary(ledger, accounts) + sections + _history(history)
    return html_page("Privacy ledger", body)


def _summary(ledger: Ledger, accounts: list[Account]) -> str:
    spent = [account for account in accounts if account.releases]
    least = min((account.left for account in spent), default=None)
    cards = [
        (f"{len({account.register for account in accounts})}", "registers of loads"),
        (f"{len({(a.register, a.key) for a in accounts})}", "loads that have an account"),
        (f"{len({(a.register, a.key) for a in spent})}", "of them in a release"),
        ("–" if least is None else f"ε = {float(least):g}", "left for the load that has least"),
    ]
    items = "".join(f"<li><b>{escape(b)}</b><span>{escape(s)}</span></li>" for b, s in cards)
    known = f'<p class="warn">{escape(NEW.capitalize())}.</p>' if ledger.is_empty else ""
    return (
        '<header><p class="kicker">Privacy ledger</p><h1>What each load has spent</h1>'
        f"<p>Ledger {escape(ledger.identity[:12])}, opened at {escape(ledger.opened_at)}.</p>"
        f"{known}"
        "<p>Every release of a load adds to what can be learnt about it. The ledger counts this as "
        "ε, for values of the load that are a certain distance apart, and refuses a release that "
        f'would take a load over its cap.</p><ul class="cards">{items}</ul></header>'
    )


def _register(name: str, accounts: list[Account], groups: list[Account], most: int) -> str:
    note = f"The {most:,} that have spent most of their caps. All: gridveil ledger show."
    note = note if len(accounts) > most else ""
    accounts, groups = _most_spent(accounts, most), _most_spent(groups, most)
    counted = _most_spent([a for a in (*groups, *accounts) if a.cap.epsilon > 0], most)
    chart = budget_bars(
        f"Share of its cap that each load of {name} has spent",
        [_label(account) for account in counted],
        np.array([_share(account) for account in counted]),
        [_tip(account) for account in counted],
    )
    parts = [f"<section><h2>{escape(name)}</h2>{chart if counted else ''}"]
    if groups:
        rows = [(group.key, *_cells(group)[1:5]) for group in groups]
        heads = ("owner of several loads", *_ACCOUNT_HEADS[1:5])
        parts.append(table(heads, rows))
    summary = f"{'Loads' if note else 'All loads'} as a table"
    parts.append(details(summary, _ACCOUNT_HEADS, map(_cells, accounts), note))
    return "".join([*parts, "</section>"])


def _most_spent(accounts: list[Account], most: int) -> list[Account]:
    """Return all accounts, or of too many those that have spent most of their caps, these first."""
    if len(accounts) <= most:
        return accounts
    return sorted(accounts, key=_share, reverse=True)[:most]


def _share(account: Account) -> float:
    """Return how much of its cap an account has spent; all of a cap of nothing."""
    return float(account.spent / account.cap.epsilon) if account.cap.epsilon > 0 else 1.0


def _history(history: list[Event]) -> str:
    latest = history[-_SHOWN_EVENTS:][::-1]
    rows = [
        (str(event.row), event.at.replace("T", " ")[:16], event.kind, event.said())
        for event in latest
    ]
    older = len(history) - len(latest)
    rest = f"<p>{older} older rows: gridveil ledger history.</p>" if older else ""
    rest += "<p>Each row is chained to those before by a hash: gridveil ledger check.</p>"
    heads = ("row", "at (UTC)", "what", "content")
    return f"<section><h2>History</h2>{rest}{table(heads, rows)}</section>"


def _label(account: Account) -> str:
    return f"group {account.key}" if account.kind == "group" else account.key


def _tip(account: Account) -> str:
    spent, left = float(account.spent), float(account.left)
    cap = account.cap.shown(account.metric)
    return f"{_label(account)}: spent ε = {spent:g} of {cap}, {left:g} left"


def _cells(account: Account) -> tuple[str, ...]:
    return (
        account.key,
        account.cap.counted(account.metric),
        f"{float(account.spent):g}",
        f"{float(account.cap.epsilon):g}",
        f"{float(account.left):g}",
        str(account.releases),
        ", ".join(account.groups),
    )
