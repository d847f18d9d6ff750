"""What a method of the fidelity phase is: the interface of ours and of those of other packages.

A method gets a problem, the noisy loads and what is public of a network, and hands back the loads,
the dispatch and the voltages that it found. It also says what it promises about costs.
`registry.py` lists the methods by name.
"""

import math
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
    """What stays within β: the cost of every generator, their sum, every output, or nothing."""

    COST = "cost"
    GENERATOR = "cost"
    """Its name up to 0.3."""
    TOTAL = "total"
    DISPATCH = "dispatch"
    NONE = "none"

    @classmethod
    def _missing_(cls, value: object) -> "BandKind | None":
        """Understand the name that certificates and settings up to 0.3 have."""
        return cls.COST if value == "generator" else None

    @property
    def on_costs(self) -> bool:
        """Whether it bounds costs, so that there are costs O*."""
        return self in (BandKind.COST, BandKind.TOTAL)


@dataclass(frozen=True, eq=False)
class FidelityProblem:
    """The noisy loads to restore, and what is public. The network's own loads play no part."""

    network: Network
    noisy: FloatArray
    """S̃, of shape (loads, 2), in p.u."""
    target: FloatArray
    """What the band is around: costs O*_g in $/h, or outputs p*_g in p.u.; empty without a band."""
    beta: float
    band: BandKind
    weights: FloatArray = field(default_factory=lambda: np.ones(1))
    """How much the squared distance of each load counts, of shape (loads,); one number for all."""
    limits: LoadLimits | None = None
    """Public limits that the restored loads keep; the noisy ones are within them."""
    near: OPFResult | None = None
    """An AC-OPF of the network with loads near the noisy ones, to start from; not of raw loads."""

    @property
    def costs(self) -> FloatArray:
        """The costs O*_g in $/h; empty where the band is not on costs."""
        return self.target if self.band.on_costs else np.zeros(0)

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
    """How far a released network is from what its band is around.

    Costs count relative to O*: of the dispatch, its worst generator, the optimum. Without costs O*
    they are not numbers, and neither is the deviation without outputs p*.
    """

    dispatch: float = math.nan
    worst_generator: float = math.nan
    optimal: float = math.nan
    deviation: float = math.nan
    """The largest deviation of an output from p*, as a share of the generator's range."""


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
        """Refuse what it cannot work with, before any noise is drawn: bands that are not on costs.

        A method that knows other bands says so by a check of its own.
        """
        if not band.on_costs:
            raise GridveilError(
                f"method {self.name!r} is about costs, which the band {band.value!r} says nothing "
                "of; take the method central or admm"
            )

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
        kept = {
            BandKind.COST: gaps.worst_generator,
            BandKind.TOTAL: abs(gaps.dispatch),
            BandKind.DISPATCH: gaps.deviation,
            BandKind.NONE: 0.0,
        }
        return kept[band]

    @classmethod
    def promise(cls, beta: float, band: BandKind) -> str:
        """Say what it promises of the dispatch and its costs, as a clause that ends a sentence."""
        if band is BandKind.NONE:
            return "nothing is promised about its dispatch"
        if band is BandKind.DISPATCH:
            return (
                "there is a way to run it in which every generator's output is within "
                f"{beta:.3g} of its range of the dispatch p*"
            )
        whose = "" if band is BandKind.TOTAL else ", for every generator,"
        return f"there is a way to run it that comes{whose} within {beta:.3g} of the costs O*"
