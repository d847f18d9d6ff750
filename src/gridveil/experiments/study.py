"""What a study runs: plain data, from a TOML file or from Python.

A study is the product of its lists; a task is one setting of one case with all its draws, small
enough to lose and large enough to share the compiled code.
"""

import hashlib
import itertools
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gridveil.admm.policy import Policy
from gridveil.errors import told_as_mistakes
from gridveil.fidelity.choices import Method
from gridveil.files import read_toml
from gridveil.privacy.choose import Calibrations, MechanismName

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Task(_Data):
    """One setting of one case, for some draws."""

    case: str
    mechanism: MechanismName
    calibration: Calibrations
    epsilon: float
    alpha: float
    beta: float
    method: Method
    policy: Policy
    max_iterations: int
    tolerance: float
    first_seed: int
    draws: int

    def key(self, code: str) -> str:
        """Return what names its result: this task, run by this code."""
        text = f"{code} {self.model_dump_json()}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]


class Study(_Data):
    """Every combination of the lists, each with so many draws."""

    cases: Annotated[tuple[str, ...], Field(min_length=1)]
    mechanisms: tuple[MechanismName, ...] = (MechanismName.POLAR_LAPLACE,)
    calibration: Calibrations = Calibrations.SOUND
    epsilons: tuple[_Positive, ...] = (1.0,)
    alphas: tuple[_Positive, ...] = (0.1,)
    betas: tuple[_Share, ...] = (0.01,)
    methods: tuple[Method, ...] = (Method.CENTRAL,)
    policies: tuple[Policy, ...] = (Policy.FAST,)
    """Of the agents; other methods have none."""
    max_iterations: Annotated[int, Field(ge=1)] = 5000
    tolerance: _Share = 1e-5
    draws: Annotated[int, Field(ge=1)] = 10
    first_seed: Annotated[int, Field(ge=0)] = 1
    draws_per_task: Annotated[int, Field(ge=1)] = 10

    def tasks(self) -> list[Task]:
        """Return the tasks, in a fixed order."""
        settings = itertools.product(
            self.cases, self.mechanisms, self.epsilons, self.alphas, self.betas, self.methods
        )
        return [
            Task(
                case=case,
                mechanism=mechanism,
                calibration=self.calibration,
                epsilon=epsilon,
                alpha=alpha,
                beta=beta,
                method=method,
                policy=policy,
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                first_seed=first,
                draws=min(self.draws_per_task, self.first_seed + self.draws - first),
            )
            for case, mechanism, epsilon, alpha, beta, method in settings
            for policy in (self.policies if method is Method.ADMM else self.policies[:1])
            for first in range(self.first_seed, self.first_seed + self.draws, self.draws_per_task)
        ]


def read_study(path: Path) -> Study:
    """Read a study from a TOML file, or say what is wrong with it."""
    content = read_toml(path)
    with told_as_mistakes(path):
        return Study.model_validate(content)
