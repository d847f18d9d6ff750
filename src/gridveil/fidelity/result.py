"""What the fidelity phase found, with figures nobody has to take on trust."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gridveil.admm.result import AgentRun
from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.fidelity.bands import Band
from gridveil.fidelity.registry import Method
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.operating_point import OperatingPoint, Violations, violations
from gridveil.opf.status import Status

_NEGLIGIBLE = 1e-6
"""Share of all costs below which a generator's relative gap says nothing."""


@dataclass(frozen=True, eq=False)
class Restored(ArrayRecord):
    """The loads Ŝ, the dispatch that serves them, and how good they are. Powers in p.u."""

    network: Network = field(repr=False)
    """The network with the restored loads."""
    method: Method
    status: Status
    point: OperatingPoint
    displacement: float
    """‖Ŝ − S̃‖₂, how far the loads were moved from the noisy ones."""
    violations: Violations
    """Recomputed from the network, not taken from the solver."""
    bands: tuple[Band, ...]
    """The outputs each generator was held to."""
    band_slack: FloatArray
    """How far inside its band each generator's output is; 0 is at its edge."""
    costs: FloatArray
    """The public costs O*_g it aimed for, in $/h."""
    checked: OPFResult | None = field(repr=False)
    """An AC-OPF of the restored network, if its method ran one."""
    solves: int
    """Programs solved on the way, AC-OPFs included."""
    iterations: int
    seconds: float
    """Time of the phase, without the AC-OPF that checks the result."""
    extra_displacement: float = 0.0
    """What keeping the optimal cost in its band added to the displacement of P_RBL."""
    agents: AgentRun | None = None
    """How the agents got there, if it was them."""

    @cached_property
    def opf(self) -> OPFResult:
        """A fresh AC-OPF of the restored network, which is what its users will run.

        Solved when first asked for: that of a continental network takes minutes.
        """
        return self.checked or solve_acopf(self.network)

    @property
    def cost_gap_dispatch(self) -> float:
        """Relative difference between the cost of the dispatch found and O*."""
        return relative_gap(float(self.generator_costs.sum()), float(self.costs.sum()))

    @property
    def cost_gap_opf(self) -> float:
        """Relative difference between the optimal cost of the restored network and O*."""
        return relative_gap(self.opf.cost, float(self.costs.sum()))

    @property
    def worst_generator_gap(self) -> float:
        """Largest relative difference of a generator's cost in the dispatch found."""
        return worst_gap(self.generator_costs, self.costs)

    @property
    def worst_generator_gap_opf(self) -> float:
        """Largest relative difference of a generator's cost in the optimal dispatch."""
        return worst_gap(self.opf.generator_costs, self.costs)

    @property
    def generator_costs(self) -> FloatArray:
        """Cost of each generator in the dispatch found, in $/h."""
        return self.network.generators.costs(self.point.p)

    def distance_to(self, other: "Restored") -> float:
        """Return how far its loads are from those of another result for the same noise (L2)."""
        return float(np.linalg.norm(self.network.loads.values - other.network.loads.values))

    @property
    def max_violation(self) -> float:
        """The largest violation of any constraint, in p.u. or radians."""
        return self.violations.largest


@dataclass(frozen=True)
class Found:
    """What a method hands back to be judged."""

    status: Status
    p: FloatArray
    q: FloatArray
    point: OperatingPoint
    bands: tuple[Band, ...]
    solves: int
    iterations: int
    opf: OPFResult | None = None
    extra_displacement: float = 0.0
    agents: AgentRun | None = None


def judged(
    network: Network,
    noisy: FloatArray,
    costs: FloatArray,
    method: Method,
    found: Found,
    seconds: float,
) -> Restored:
    """Recompute every figure of what a method found."""
    restored = network.with_loads(found.p, found.q)
    moved = np.concatenate([found.p, found.q]) - noisy.T.ravel()
    slack = [band.slack(float(p)) for band, p in zip(found.bands, found.point.p, strict=True)]
    return Restored(
        network=restored,
        method=method,
        status=found.status,
        point=found.point,
        displacement=float(np.linalg.norm(moved)),
        violations=violations(restored, found.point),
        bands=found.bands,
        band_slack=np.array(slack),
        costs=costs,
        checked=found.opf,
        solves=found.solves,
        iterations=found.iterations,
        seconds=seconds,
        extra_displacement=found.extra_displacement,
        agents=found.agents,
    )


def relative_gap(value: float, reference: float) -> float:
    """Return (value − reference)/|reference|; 0 if both are 0."""
    if reference == 0:
        return 0.0 if value == 0 else float(np.sign(value) * np.inf)
    return (value - reference) / abs(reference)


def worst_gap(values: FloatArray, references: FloatArray) -> float:
    """Return the largest relative gap of generators with more than a millionth of all costs."""
    sizes = np.abs(references)
    counted = sizes > _NEGLIGIBLE * sizes.sum()
    gaps = np.abs(values[counted] - references[counted]) / sizes[counted]
    return float(gaps.max(initial=0.0))
