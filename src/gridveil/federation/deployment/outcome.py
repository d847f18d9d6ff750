"""What the coordinator publishes of a run: its status and residuals, and no member's data."""

from pathlib import Path
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from gridveil.arrays import FloatArray
from gridveil.errors import document_errors
from gridveil.files import read_file


class Outcome(BaseModel):
    """How a run ended, and the largest residuals of every iteration."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    status: str
    iterations: int
    primal: tuple[float, ...]
    dual: tuple[float, ...]

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if not len(self.primal) == len(self.dual) == self.iterations:
            raise ValueError("there must be two residuals for every iteration")
        return self

    @property
    def residuals(self) -> FloatArray:
        """Primal and dual residuals, of shape (iterations, 2)."""
        return np.array([self.primal, self.dual], dtype=float).T


def read_outcome(path: Path) -> Outcome:
    """Read the outcome of a run, or say what is wrong with it."""
    with document_errors(path):
        return Outcome.model_validate_json(read_file(path))
