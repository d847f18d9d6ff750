"""What a study runs: plain data, from a TOML file or from Python.

A study is the product of its lists. A task is some draws of one case with one kind of noise,
restored by every method of the study, so that the noise and its AC-OPF are computed once.
"""

import hashlib
import itertools
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from gridveil import defaults
from gridveil.admm.policy import Policy
from gridveil.device import Device
from gridveil.errors import GridveilError, document_errors
from gridveil.fidelity.registry import METHODS
from gridveil.files import read_toml
from gridveil.network.library import find_case
from gridveil.opf.solvers import Solver
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.privacy.mechanisms.relative_laplace import RelativeLaplace
from gridveil.registry import Registry

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _registered(registry: Registry[Any]) -> AfterValidator:
    """Return a validator of the names of a registry."""

    def check(name: str) -> str:
        if name not in registry:
            raise ValueError(f"{name!r} is none of {', '.join(registry.names)}")
        return name

    return AfterValidator(check)


_Mechanism = Annotated[str, _registered(MECHANISMS)]
_Method = Annotated[str, _registered(METHODS)]


def _one_for_all_loads(hide: str) -> str:
    """Return what is hidden, if a study can do without ratings."""
    try:
        unit = Hide.parse(hide).unit
    except GridveilError as error:
        raise ValueError(str(error)) from None
    if unit is HiddenIn.RATING:
        raise ValueError(f"{hide}: a study has no ratings; hide a part of each load, or MVA")
    return hide


_Hidden = Annotated[str, AfterValidator(_one_for_all_loads)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Task(_Data):
    """Some draws of one case with one kind of noise, restored by some methods."""

    case: str
    contents: str
    """A digest of the case's file, because the network behind a name can change."""
    mechanism: str
    calibration: str
    epsilon: float
    alpha: float | None
    """In p.u.; None where it is said what is hidden."""
    hide: str | None
    betas: tuple[float, ...]
    methods: tuple[str, ...]
    policies: tuple[Policy, ...]
    max_iterations: int
    tolerance: float
    solver: Solver
    device: Device
    first_seed: int
    draws: int

    def key(self, code: str) -> str:
        """Return the name of its result: a digest of this task and of the code that runs it."""
        text = f"{code} {self.model_dump_json()}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def seeds(self) -> range:
        """The seed of each draw."""
        return range(self.first_seed, self.first_seed + self.draws)


class Study(_Data):
    """Every combination of the lists, each with the same number of draws."""

    cases: Annotated[tuple[str, ...], Field(min_length=1)]
    mechanisms: tuple[_Mechanism, ...] = (defaults.MECHANISM,)
    """For what is hidden in per cent it is relative-laplace, if none is named."""
    calibrations: tuple[str, ...] = (defaults.CALIBRATION,)
    """Of mechanisms that have several; others have one."""
    epsilons: tuple[_Positive, ...] = (float(defaults.EPSILON),)
    alphas: tuple[_Positive, ...] = (float(defaults.ALPHA),)
    """Distances in p.u."""
    hides: tuple[_Hidden, ...] = ()
    """In place of alphas: "10%" of each load, or "5MVA"."""
    betas: tuple[_Share, ...] = (float(defaults.BETA),)
    methods: tuple[_Method, ...] = (defaults.METHOD,)
    policies: tuple[Policy, ...] = (Policy.FAST,)
    """Of the agents; other methods have none."""
    max_iterations: Annotated[int, Field(ge=1)] = defaults.MAX_ITERATIONS
    tolerance: _Share = defaults.TOLERANCE
    solver: Solver = Solver.AUTO
    """What solves central programs."""
    device: Device = Device.CPU
    """Where they are solved, and where agents run."""
    draws: Annotated[int, Field(ge=1)] = 10
    first_seed: Annotated[int, Field(ge=0)] = 1
    draws_per_task: Annotated[int, Field(ge=1)] = 10

    @model_validator(mode="after")
    def _noise_fits(self) -> Self:
        """Refuse mechanisms and distances that do not fit each other."""
        if self.hides and "alphas" in self.model_fields_set:
            raise ValueError("hides, alphas: both say what is hidden; drop one")
        for (mechanism, calibration), (alpha, hide) in self._noise():
            try:
                noise_choice(mechanism, hide, alpha, calibration=calibration)
            except GridveilError as error:
                raise ValueError(f"{error} (hides in a study)") from None
        return self

    def tasks(self) -> list[Task]:
        """Return the tasks, in a fixed order."""
        settings = itertools.product(self.cases, self._noise(), self.epsilons)
        return [
            Task(
                case=case,
                contents=_contents(case),
                mechanism=mechanism,
                calibration=calibration,
                epsilon=epsilon,
                alpha=alpha,
                hide=hide,
                betas=self.betas,
                methods=self.methods,
                policies=self.policies if self.has_agents else (),
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                solver=self.solver,
                device=self.device,
                first_seed=first,
                draws=min(self.draws_per_task, self.first_seed + self.draws - first),
            )
            for case, ((mechanism, calibration), (alpha, hide)), epsilon in settings
            for first in range(self.first_seed, self.first_seed + self.draws, self.draws_per_task)
        ]

    @property
    def has_agents(self) -> bool:
        """Whether any of its methods has agents."""
        return any(METHODS.get(method).has_agents for method in self.methods)

    def _noise(self) -> list[tuple[tuple[str, str], tuple[float | None, str | None]]]:
        """Return every mechanism, with its calibration, and α or what is hidden."""
        if not self.hides:
            distances = [(alpha, None) for alpha in self.alphas]
            return list(itertools.product(self._mechanisms(), distances))
        relative = (RelativeLaplace.name, defaults.CALIBRATION)
        return [
            (mechanism, (None, hide))
            for hide in self.hides
            for mechanism in (
                [relative]
                if Hide.parse(hide).unit is HiddenIn.LOAD
                and "mechanisms" not in self.model_fields_set
                else self._mechanisms()
            )
        ]

    def _mechanisms(self) -> list[tuple[str, str]]:
        """Return every mechanism with each of the calibrations that it has."""
        return [
            (mechanism, calibration)
            for mechanism in self.mechanisms
            for calibration in (
                self.calibrations
                if MECHANISMS.get(mechanism).calibrations
                else (defaults.CALIBRATION,)
            )
        ]


def read_study(path: Path) -> Study:
    """Read a study from a TOML file, or say what is wrong with it."""
    content = read_toml(path)
    with document_errors(path):
        return Study.model_validate(content)


def as_study(study: Study | str | Path) -> Study:
    """Return a study given as an object or by its file."""
    return study if isinstance(study, Study) else read_study(Path(study))


def contents_of(case: str) -> str:
    """Return a digest of a case's file."""
    return hashlib.sha256(find_case(case).read_bytes()).hexdigest()[:16]


_contents = cache(contents_of)
