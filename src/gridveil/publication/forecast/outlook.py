"""The forecast of a release beside those of neighbouring settings, as data."""

from dataclasses import dataclass
from typing import Any

from gridveil.html_table import html_table
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.rated_laplace import RatedLaplace
from gridveil.privacy.metric import Metric
from gridveil.publication.forecast.forecast import Forecast, LoadsFrom
from gridveil.publication.forecast.words import HEADINGS, aligned, sentences, table_row, table_rows

OWN = (
    "PRIVATE: computed from your raw loads, with noise that a seed undoes. Keep this forecast to "
    "yourself."
)
PUBLIC = (
    "not private: computed from made-up loads and public numbers alone; nothing here depends on "
    "your loads."
)


@dataclass(frozen=True)
class Setting:
    """A release with other parameters, what it costs of the budget, and its forecast."""

    name: str
    """What differs from what was asked for."""
    hides: str = ""
    """What change of a load is hidden, in words."""
    epsilon: float | None = None
    charge: float | None = None
    """ε charged to each load, at the distance its ledger counts at; None if it is refused."""
    least_left: float | None = None
    """What then remains, at least, for any of them."""
    forecast: Forecast | None = None
    refused: str = ""
    """Why there can be no such release."""

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        forecast = None if self.forecast is None else self.forecast.figures()
        return {**vars(self), "forecast": forecast}


@dataclass(frozen=True, repr=False)
class Outlook:
    """What a release will look like, and what other settings would give."""

    network: str
    loads: int
    loads_from: LoadsFrom
    asked: Setting
    neighbours: tuple[Setting, ...]
    notes: tuple[str, ...]
    """What else its owner should know."""

    @property
    def is_private(self) -> bool:
        """Whether it was made from the raw loads."""
        return self.loads_from is LoadsFrom.OWN

    @property
    def marking(self) -> str:
        """Who may see it, in words."""
        return OWN if self.is_private else PUBLIC

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "private": self.is_private,
            "marking": self.marking,
            "network": self.network,
            "loads": self.loads,
            "loads_from": self.loads_from.value,
            "asked": self.asked.figures(),
            "neighbours": [one.figures() for one in self.neighbours],
            "notes": list(self.notes),
        }

    def text(self) -> list[str]:
        """Return what is said of it: the title, what to expect, and notes."""
        title = (
            f"forecast of a release of {self.network} ({self.loads} loads) that hides "
            f"{self.asked.hides} at ε = {_number(self.asked.epsilon)}; nothing is drawn or spent"
        )
        refused = (f"{o.name}: refused: {o.refused}" for o in self.neighbours if o.refused)
        return [title, *sentences(self.asked.forecast, self._others()), *self.notes, *refused]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return headings and rows of a table of all settings, as texts."""
        shown = [one for one in self.neighbours if one.forecast is not None]
        charges = [one.charge for one in (self.asked, *shown)]
        rows = [
            table_row("ε charged to each load", [_number(one) for one in charges]),
            table_row(
                "ε then left, at least", [_number(o.least_left) for o in (self.asked, *shown)]
            ),
            *table_rows(self.asked.forecast, [one.forecast for one in shown]),
        ]
        return (*HEADINGS, *(one.name for one in shown)), rows

    def _others(self) -> dict[str, Forecast]:
        return {one.name: one.forecast for one in self.neighbours if one.forecast is not None}

    def __repr__(self) -> str:
        return "\n".join([self.marking, "", *self.text(), "", *aligned(*self.table())])

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        return html_table(" ".join([self.marking, *self.text()]), headings, rows)


def hidden_change(mechanism: Mechanism, base_mva: float) -> str:
    """Say what change of a load a mechanism hides."""
    inner = mechanism.mechanism if isinstance(mechanism, Clamped) else mechanism
    guarantee = inner.guarantee()
    if isinstance(inner, RatedLaplace):
        return f"{float(100 * inner.share):g} % of the rating of each load"
    if guarantee.distance is None:
        return "any change of a load within its public bounds"
    if guarantee.kind is Metric.RELATIVE:
        return f"{100 * guarantee.distance:g} % of each load"
    return f"{guarantee.distance * base_mva:g} MVA of each load"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
