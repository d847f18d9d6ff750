"""What a study runs: plain data, from a TOML file or from Python.

A study is the product of its lists; a task is some draws of one case at one noise, restored in
every way the study asks for: what all ways need, the noise and an AC-OPF of it, is then done once.
"""

import hashlib
import itertools
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gridveil.admm.device import Device
from gridveil.admm.policy import Policy
from gridveil.errors import told_as_mistakes
from gridveil.fidelity.registry import Method
from gridveil.files import read_toml
from gridveil.network.library import find_case
from gridveil.privacy.mechanisms.registry import Calibrations, MechanismName

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Task(_Data):
    """Some draws of one case at one noise, restored in some ways."""

    case: str
    contents: str
    """A digest of the case's file: a name may come to mean another network."""
    mechanism: MechanismName
    calibration: Calibrations
    epsilon: float
    alpha: float
    betas: tuple[float, ...]
    methods: tuple[Method, ...]
    policies: tuple[Policy, ...]
    max_iterations: int
    tolerance: float
    device: Device
    first_seed: int
    draws: int

    def key(self, code: str) -> str:
        """Return what names its result: this task, run by this code."""
        text = f"{code} {self.model_dump_json()}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def seeds(self) -> range:
        """A seed to each draw."""
        return range(self.first_seed, self.first_seed + self.draws)


class Study(_Data):
    """Every combination of the lists, each with so many draws."""

    cases: Annotated[tuple[str, ...], Field(min_length=1)]
    mechanisms: tuple[MechanismName, ...] = (MechanismName.POLAR_LAPLACE,)
    calibrations: tuple[Calibrations, ...] = (Calibrations.SOUND,)
    """Of the piecewise mechanism; others have one."""
    epsilons: tuple[_Positive, ...] = (1.0,)
    alphas: tuple[_Positive, ...] = (0.1,)
    betas: tuple[_Share, ...] = (0.01,)
    methods: tuple[Method, ...] = (Method.CENTRAL,)
    policies: tuple[Policy, ...] = (Policy.FAST,)
    """Of the agents; other methods have none."""
    max_iterations: Annotated[int, Field(ge=1)] = 5000
    tolerance: _Share = 1e-5
    device: Device = Device.CPU
    """Where the agents run."""
    draws: Annotated[int, Field(ge=1)] = 10
    first_seed: Annotated[int, Field(ge=0)] = 1
    draws_per_task: Annotated[int, Field(ge=1)] = 10

    def tasks(self) -> list[Task]:
        """Return the tasks, in a fixed order."""
        settings = itertools.product(self.cases, self._mechanisms(), self.epsilons, self.alphas)
        return [
            Task(
                case=case,
                contents=_contents(case),
                mechanism=mechanism,
                calibration=calibration,
                epsilon=epsilon,
                alpha=alpha,
                betas=self.betas,
                methods=self.methods,
                policies=self.policies if Method.ADMM in self.methods else (),
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                device=self.device if Method.ADMM in self.methods else Device.CPU,
                first_seed=first,
                draws=min(self.draws_per_task, self.first_seed + self.draws - first),
            )
            for case, (mechanism, calibration), epsilon, alpha in settings
            for first in range(self.first_seed, self.first_seed + self.draws, self.draws_per_task)
        ]

    def _mechanisms(self) -> list[tuple[MechanismName, Calibrations]]:
        return [
            (mechanism, calibration)
            for mechanism in self.mechanisms
            for calibration in (
                self.calibrations if mechanism is MechanismName.PIECEWISE else (Calibrations.SOUND,)
            )
        ]


def read_study(path: Path) -> Study:
    """Read a study from a TOML file, or say what is wrong with it."""
    content = read_toml(path)
    with told_as_mistakes(path):
        return Study.model_validate(content)


def contents_of(case: str) -> str:
    """Return a digest of a case's file."""
    return hashlib.sha256(find_case(case).read_bytes()).hexdigest()[:16]


_contents = cache(contents_of)
