"""Places of loads and results in the text of a file: checked, blanked, or given other values.

A reader of a text format says where its text holds the power of each load. With these places a
message names the line of a load that is not a number, a foreign reader can be tried on a text
without loads, and released loads are written where the raw ones stood.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gridveil.network.problems import CaseError, Problem, ProblemKind


@dataclass(frozen=True)
class Cell:
    """One number of a text."""

    start: int
    end: int
    what: str
    """What it belongs to, for messages: "bus 101 load 1"."""
    column: str
    """What it is: "p" or "q" of a load, or the name of the field."""
    text: str = field(repr=False)


def check_loads(path: Path | str, text: str, cells: Iterable[Cell]) -> None:
    """Refuse loads that are not finite numbers, with their lines; no message shows a value."""
    problems = [
        Problem(
            ProblemKind.NOT_A_NUMBER,
            f"{cell.what}: {cell.column} is not a finite number",
            line=line_of(text, cell.start),
        )
        for cell in cells
        if not _is_finite(cell.text)
    ]
    if problems:
        raise CaseError(path, problems)


def line_of(text: str, at: int) -> int:
    """Return the line of an offset, from 1."""
    return text.count("\n", 0, at) + 1


def with_cells(text: str, values: Mapping[Cell, str]) -> str:
    """Return a text with other contents of some cells."""
    pieces, position = [], 0
    for cell in sorted(values, key=lambda cell: cell.start):
        pieces += [text[position : cell.start], values[cell]]
        position = cell.end
    return "".join([*pieces, text[position:]])


def blanked(text: str, cells: Iterable[Cell]) -> str:
    """Return a text whose loads are 0, every column where it was."""
    return with_cells(text, {cell: "0".rjust(cell.end - cell.start) for cell in cells})


def _is_finite(text: str) -> bool:
    """Return whether a number stands there; nothing stands for a default, 0."""
    try:
        return not text.strip() or math.isfinite(float(text.strip().replace("D", "E")))
    except ValueError:
        return False
