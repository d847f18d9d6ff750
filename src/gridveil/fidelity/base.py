"""What a method of the fidelity phase is: the interface of ours and of those of other packages.

A method gets a problem, the noisy loads and what is public of a network, and hands back the loads,
the dispatch and the voltages that it found. It also says what it promises about costs.
`registry.py` lists the methods by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Self

import numpy as np

from gridveil.admm.options import AgentOptions
from gridveil.admm.result import AgentRun
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.status import Status


class BandKind(StrEnum):
    """Whose costs stay within β."""

    GENERATOR = "generator"
    TOTAL = "total"


@dataclass(frozen=True, eq=False)
class FidelityProblem:
    """The noisy loads to restore, and what is public. The network's own loads play no part."""

    network: Network
    noisy: FloatArray
    """S̃, of shape (loads, 2), in p.u."""
    costs: FloatArray
    """The public costs O*_g, in $/h."""
    beta: float
    band: BandKind
    weights: FloatArray = field(default_factory=lambda: np.ones(1))
    """How much the squared distance of each load counts, of shape (loads,); one number for all."""
    limits: LoadLimits | None = None
    """Public limits that the restored loads keep; the noisy ones are within them."""

    def __post_init__(self) -> None:
        """Refuse weights and limits that do not fit, and have a weight for each load."""
        if self.limits is not None and self.limits.consumers.shape != (len(self.noisy),):
            raise GridveilError(
                f"limits: {len(self.limits.consumers)} loads for {len(self.noisy)} noisy ones"
            )
        weights = np.array(self.weights, dtype=float)
        fit = weights.ndim == 1 and len(weights) in (1, len(self.noisy))
        if not (fit and np.isfinite(weights).all() and (weights > 0).all()):
            raise GridveilError(f"weights: {len(self.noisy)} finite numbers above 0 needed")
        object.__setattr__(self, "weights", np.resize(weights, len(self.noisy)))


@dataclass(frozen=True)
class Found:
    """What a method found, before anything of it is recomputed."""

    status: Status
    p: FloatArray
    q: FloatArray
    point: OperatingPoint
    bands: tuple[Band, ...]
    """The outputs each generator was held to."""
    solves: int
    iterations: int
    opf: OPFResult | None = None
    """An AC-OPF of the restored network, if the method ran one."""
    extra_displacement: float = 0.0
    """What more than P_RBL asks for added to the displacement."""
    agents: AgentRun | None = None
    """How agents got there, if it was them."""


@dataclass(frozen=True)
class CostGaps:
    """How far costs are from O*, relatively: of the dispatch, its worst generator, the optimum."""

    dispatch: float
    worst_generator: float
    optimal: float


class FidelityMethod(ABC):
    """A way to solve the fidelity phase."""

    name: ClassVar[str]
    """Its name in the registry, on the command line and in certificates."""
    has_agents: ClassVar[bool] = False
    """Whether options of the agents mean something to it."""

    @classmethod
    def with_options(cls, agents: AgentOptions | None) -> Self:
        """Make it, with options of the agents if there are any."""
        if agents is not None:
            raise GridveilError(
                f"agents: options of the agents mean nothing to method {cls.name!r}"
            )
        return cls()

    def for_release(self) -> Self:
        """Return it as a release needs it: keeping every limit to 1e-6 p.u."""
        return self

    def check(self, band: BandKind) -> None:
        """Refuse what it cannot work with, before any noise is drawn."""
        del band

    def prepare(self, problem: FidelityProblem) -> None:
        """Do what takes time once and not for each problem, such as compiling; it is not timed."""
        del problem

    @abstractmethod
    def solve(self, problem: FidelityProblem) -> Found:
        """Return the loads closest to the noisy ones that keep what it promises."""

    def solve_many(
        self,
        problems: Sequence[FidelityProblem],
        threads: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Found]:
        """Solve problems of one network that differ in noise; `progress` gets how many are done."""
        del threads
        found = []
        for problem in problems:
            found.append(self.solve(problem))
            if progress is not None:
                progress(len(found))
        return found

    @classmethod
    def kept_gap(cls, gaps: CostGaps, band: BandKind) -> float:
        """Return the gap that it keeps within β: that of the dispatch, where not said otherwise."""
        return abs(gaps.dispatch) if band is BandKind.TOTAL else gaps.worst_generator

    @classmethod
    def promise(cls, beta: float, band: BandKind) -> str:
        """Say what it promises about costs, as a clause that ends a sentence."""
        whose = "" if band is BandKind.TOTAL else ", for every generator,"
        return f"there is a way to run it that comes{whose} within {beta:.3g} of the costs O*"
