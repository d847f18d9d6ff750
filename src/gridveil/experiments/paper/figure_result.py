"""Our result for a table or figure of the paper: rows, a drawing, and findings in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from gridveil.experiments.run import Row


@dataclass(frozen=True, eq=False)
class FigureResult:
    """A table or figure, ready to be saved."""

    rows: Sequence[Row]
    """The rows of the CSV file, all with the same columns."""
    figure: Figure
    findings: tuple[str, ...]
    """What was measured, in words, for the column beside the paper's finding."""
