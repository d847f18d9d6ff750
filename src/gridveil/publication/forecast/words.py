"""A forecast in words and as a table, for people who know neither DP nor optimisation."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gridveil.publication.forecast.errors import LoadErrors
from gridveil.publication.forecast.forecast import Forecast
from gridveil.publication.forecast.statistics import Chance, Spread

HEADINGS = ("", "as asked", "9 of 10 releases")
_NONE = "–"
Format = Callable[[float], str]


@dataclass(frozen=True)
class _Row:
    """A row of the table: a figure of every forecast, and how it is written."""

    label: str
    figure: Callable[[Forecast], Spread | None]
    written: Format
    is_optional: bool = False
    """Whether it is left out where no forecast has it."""


def percent(value: float) -> str:
    """Return a share as per cent, in two digits or so."""
    number = 100 * value
    digits = 0 if abs(number) >= 9.5 else 1 if abs(number) >= 0.95 or not number else 2
    return f"{number:,.{digits}f} %" if number else "0 %"


def signed_percent(value: float) -> str:
    """Return a share as per cent, with its sign."""
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{percent(abs(value))}"


def amount(value: float) -> str:
    """Return a number in two or three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}"


def sentences(forecast: Forecast | None, others: Mapping[str, Forecast]) -> Iterator[str]:
    """Say what to expect of a release, and what other settings would give."""
    if forecast is None:
        return
    restoring = forecast.restoring
    found = released_errors(forecast)
    if found is not None:
        yield from _of_loads("noisy" if restoring is None else "released", found)
    if restoring is not None:
        yield (
            f"The noisy loads alone would make a working network in {_times(restoring.feasible)} "
            f"simulated releases; restored, they would in {_times(restoring.released)}."
        )
        if restoring.released.happened < restoring.released.trials:
            yield (
                "Where none comes about, the private loads are kept and stay charged; another beta "
                "or method can then be tried at no further cost."
            )
        if restoring.cost_error is not None:
            yield _of_cost(restoring.cost_error)
        if restoring.dispatch_error is not None:
            yield _of_dispatch(restoring.dispatch_error)
    for name, other in others.items():
        errors = released_errors(other)
        if errors is not None and errors.median_relative is not None:
            yield f"With {name}: half of the loads within {percent(errors.median_relative.median)}."


def released_errors(forecast: Forecast) -> LoadErrors | None:
    """Return how far released loads are off: those restored, or the noisy ones if none were."""
    return forecast.noise if forecast.restoring is None else forecast.restoring.errors


def _of_loads(which: str, errors: LoadErrors) -> Iterator[str]:
    half, most, mva = errors.median_relative, errors.most_relative, errors.median_mva
    if half is not None and most is not None and mva is not None:
        yield (
            f"Half of the {which} loads will be within {percent(half.median)} of the true ones "
            f"({amount(mva.median)} MVA), nine of ten within {percent(most.median)}."
        )
    total = errors.total_relative
    if total is not None:
        yield (
            f"The total load will be off by about {percent(total.median)}, in 19 of 20 releases by "
            f"less than {percent(total.high)}."
        )
    if errors.negative is not None and errors.negative.high > 0:
        yield (
            f"About {percent(errors.negative.median)} of the loads will come out negative, at most "
            f"{percent(errors.negative.high)} in 19 of 20 releases."
        )


def _of_cost(error: Spread) -> str:
    return (
        "In nine of ten releases, the optimal cost of the released network will be off by "
        f"{signed_percent(error.low)} to {signed_percent(error.high)} (median "
        f"{signed_percent(error.median)})."
    )


def _of_dispatch(error: Spread) -> str:
    return (
        "In nine of ten releases, the released dispatch will differ from the true one by at most "
        f"{percent(error.low)} to {percent(error.high)} of a generator's range (median "
        f"{percent(error.median)})."
    )


def _times(chance: Chance) -> str:
    everything = chance.happened == chance.trials
    return f"all {chance.trials}" if everything else f"{chance.happened} of {chance.trials}"


def _error_rows(of: Callable[[Forecast], LoadErrors | None]) -> Iterator[_Row]:
    """Yield the rows of a table about load errors."""
    figures: tuple[tuple[str, str, Format], ...] = (
        ("half of the loads within", "median_relative", percent),
        ("  in MVA", "median_mva", amount),
        ("nine loads of ten within", "most_relative", percent),
        ("  in MVA", "most_mva", amount),
        ("total load off by", "total_relative", percent),
        ("  in MW", "total_mw", amount),
        ("loads that turn negative", "negative", percent),
    )
    for label, name, written in figures:

        def figure(forecast: Forecast, name: str = name) -> Spread | None:
            errors = of(forecast)
            return None if errors is None else getattr(errors, name)

        yield _Row(label, figure, written)


def table_row(label: str, values: Sequence[str], between: str = "") -> tuple[str, ...]:
    """Return a row: what was asked for, where it lies, and the neighbours."""
    first, *others = values
    return (label, first, between, *others)


def table_rows(
    asked: Forecast | None, others: Sequence[Forecast | None]
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of a forecast and its neighbours."""
    if asked is None:
        return
    shown = [asked, *(one for one in others if one is not None)]
    empty = [""] * len(shown)
    yield table_row("THE NOISE ALONE", empty)
    yield from _spread_rows(_error_rows(lambda f: f.noise), shown)
    if asked.restoring is None:
        return
    yield _chance_row("the network works", [f.restoring.feasible for f in shown if f.restoring])
    yield table_row("THE RELEASE", empty)
    yield _chance_row("comes about", [f.restoring.released for f in shown if f.restoring])
    yield from _spread_rows(_error_rows(released_errors), shown)
    yield from _spread_rows(_RESTORING_ROWS, shown)


def _chance_row(label: str, chances: Sequence[Chance]) -> tuple[str, ...]:
    between = f"{percent(chances[0].low)} … {percent(chances[0].high)}"
    return table_row(label, [f"{one.happened} of {one.trials}" for one in chances], between)


def _spread_rows(rows: Iterable[_Row], shown: Sequence[Forecast]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        found = [row.figure(one) for one in shown]
        if row.is_optional and not any(found):
            continue
        texts = [_NONE if one is None else row.written(one.median) for one in found]
        first = found[0]
        between = "" if first is None else f"{row.written(first.low)} … {row.written(first.high)}"
        yield table_row(row.label, texts, between)


def _of_restoring(name: str) -> Callable[[Forecast], Spread | None]:
    return lambda forecast: getattr(forecast.restoring, name, None)


_RESTORING_ROWS = (
    _Row("moved by restoring, p.u.", _of_restoring("displacement_pu"), amount),
    _Row("  by the promise's metric", _of_restoring("weighted_displacement"), amount),
    _Row("optimal cost off by", _of_restoring("cost_error"), signed_percent, is_optional=True),
    _Row("dispatch off by, of ranges", _of_restoring("dispatch_error"), percent, is_optional=True),
)


def aligned(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of text: the first column to the left, all others to the right."""
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (headings, *rows)
    ]
