"""The tables and figures of the paper as data: a study for each, and its kind."""

import csv
import tomllib
from enum import StrEnum
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from gridveil.errors import GridveilError
from gridveil.experiments.study import Study
from gridveil.network.library import list_cases

_PREFIX = "nesta_"
ALL = "all"


class FigureKind(StrEnum):
    """The kinds of tables and figures; a module of the same name presents each."""

    CONVERGENCE = "convergence"
    LOADS = "loads"
    DISTANCE = "distance"
    COST = "cost"
    TRACES = "traces"
    FEASIBILITY = "feasibility"


class Definition(BaseModel):
    """One table or figure of the paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    kind: FigureKind
    title: str
    caption: str
    """What the paper calls it, and its parameters."""
    paper_finding: str
    """What the paper finds, in our words."""
    printed: str | None = None
    """The file with the paper's numbers, where it prints them."""
    remarks: tuple[str, ...]
    """What differs from the paper, and why."""
    study: Study


@cache
def definitions() -> dict[str, Definition]:
    """Return all definitions by name, in the order of the paper."""
    content = tomllib.loads(_text("definitions.toml"))
    return {name: Definition(name=name, **entry) for name, entry in content.items()}


def select(name: str) -> list[Definition]:
    """Return the definition of this name, or all of them."""
    known = definitions()
    if name == ALL:
        return list(known.values())
    if name not in known:
        raise GridveilError(f"no table or figure {name!r}; there are {ALL}, {', '.join(known)}")
    return [known[name]]


def printed_rows(definition: Definition) -> dict[str, dict[str, float]]:
    """Return the numbers the paper prints, by case."""
    if definition.printed is None:
        return {}
    return {
        row.pop("case"): {column: float(value) for column, value in row.items()}
        for row in csv.DictReader(_text(definition.printed).splitlines())
    }


def with_available_cases(study: Study) -> tuple[Study, dict[str, str | None]]:
    """Return the study on the cases that are available, and the replacement of every other case.

    A NESTA case is replaced by the PGLib case of the same network, or left out (None).
    """
    known = {entry.name for entry in list_cases()}
    replaced: dict[str, str | None] = {}
    cases = []
    for case in study.cases:
        other = case.removeprefix(_PREFIX)
        use = case if case in known else other if other in known else None
        if use != case:
            replaced[case] = use
        if use is not None:
            cases.append(use)
    return study.model_copy(update={"cases": tuple(cases)}), replaced


def printed_name(case: str) -> str:
    """Return the name the paper has for a case."""
    return case if case.startswith(_PREFIX) else _PREFIX + case


def _text(name: str) -> str:
    return files("gridveil.experiments.paper").joinpath(name).read_text(encoding="utf-8")
