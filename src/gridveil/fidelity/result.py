"""The result of the fidelity phase, with every figure recomputed from the network."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gridveil.admm.result import AgentRun
from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.fidelity.bands import Band, largest_deviation
from gridveil.fidelity.base import BandKind, CostGaps, FidelityProblem, Found
from gridveil.frames import data_frame
from gridveil.html_table import html_table
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.nonlinear_program import SolverVersion
from gridveil.opf.operating_point import OperatingPoint, Violations, violations
from gridveil.opf.status import Status

_NEGLIGIBLE = 1e-6
"""Share of all costs below which a generator's relative gap says nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Restored(ArrayRecord):
    """The loads Ŝ, the dispatch that serves them, and how good they are. Powers in p.u."""

    network: Network = field(repr=False)
    """The network with the restored loads."""
    method: str
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
    band: BandKind
    target: FloatArray
    """What its band is around: costs O*_g in $/h, or outputs p*_g in p.u.; empty without a band."""
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
    solvers: tuple[SolverVersion, ...] = ()
    """What solved central programs on the way, and where."""

    @cached_property
    def opf(self) -> OPFResult:
        """A fresh AC-OPF of the restored network, which is what its users will run.

        Solved when first asked for: that of a continental network takes minutes.
        """
        return self.checked or solve_acopf(self.network)

    @property
    def costs(self) -> FloatArray:
        """The costs O*_g it aimed for, in $/h; empty where its band is not on costs."""
        return self.target if self.band.on_costs else np.zeros(0)

    @property
    def cost_gap_dispatch(self) -> float:
        """Relative difference between the cost of the dispatch found and O*."""
        return self._gaps().dispatch

    @property
    def cost_gap_optimal(self) -> float:
        """Relative difference between the optimal cost of the restored network and O*."""
        return self.gaps().optimal

    @property
    def worst_generator_gap(self) -> float:
        """Largest relative difference of a generator's cost in the dispatch found."""
        return self._gaps().worst_generator

    @property
    def largest_deviation(self) -> float:
        """Largest deviation of an output from p*, as a share of the generator's range."""
        return self._gaps().deviation

    def gaps(self) -> CostGaps:
        """Return how far it is from what its band is around."""
        return self._gaps(self.opf.cost if self.band.on_costs else None)

    def _gaps(self, optimal: float | None = None) -> CostGaps:
        return gaps_of(self.network, self.band, self.target, self.point.p, optimal)

    @property
    def worst_generator_gap_optimal(self) -> float:
        """Largest relative difference of a generator's cost in the optimal dispatch."""
        if not self.band.on_costs:
            return math.nan
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

    def figures(self, solve_opf: bool = True) -> dict[str, Any]:
        """Return its figures under the names they have everywhere; gaps are relative to O*.

        Args:
            solve_opf: Whether to solve an AC-OPF of the restored network for the gaps of the
                optimal cost, if none was solved yet. Without one they are None.
        """
        opf = self.opf if solve_opf and self.band.on_costs else self.checked
        has_optimum = self.band.on_costs and opf is not None and opf.status.solved
        run, gaps = self.agents, self._gaps()
        return {
            "method": self.method,
            "status": self.status.name.lower(),
            "solved": self.status.solved,
            "band": self.band.value,
            "cost": float(self.costs.sum()) if self.band.on_costs else None,
            "displacement": self.displacement,
            "extra_displacement": self.extra_displacement,
            "max_violation": self.max_violation,
            "cost_gap_dispatch": _or_none(gaps.dispatch),
            "worst_generator_gap": _or_none(gaps.worst_generator),
            "cost_gap_optimal": self.cost_gap_optimal if has_optimum else None,
            "worst_generator_gap_optimal": self.worst_generator_gap_optimal
            if has_optimum
            else None,
            "largest_deviation": _or_none(gaps.deviation),
            "solves": self.solves,
            "seconds": self.seconds,
            "solvers": [str(solver) for solver in self.solvers],
            "device": None if run is None else run.device.value,
            "iterations": None if run is None else run.iterations,
            "primal": None if run is None else run.primal,
            "dual": None if run is None else run.dual,
        }

    def comparison(self, central: "Restored | None") -> dict[str, float | None]:
        """Return how far the loads are from those the central solver finds, in p.u."""
        compared = central is not None and central.status.solved
        return {
            "central_displacement": central.displacement if central and compared else None,
            "distance_to_central": self.distance_to(central) if central and compared else None,
        }

    def to_frame(self) -> Any:
        """Return the restored loads as a pandas DataFrame, in MW and MVAr."""
        base = self.network.base_mva
        p, q = self.network.loads.values.T * base
        return data_frame({"bus": self.network.load_buses, "p_mw": p, "q_mvar": q})

    def __repr__(self) -> str:
        return (
            f"Restored({self.network.name!r} by {self.method}: {self.status.value}; loads moved by "
            f"{self.displacement:.4g} p.u., largest violation {self.max_violation:.1e})"
        )

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), value)
            for name, value in self.figures(solve_opf=False).items()
            if value is not None
        ]
        return html_table(repr(self), ("figure", "value"), rows)


def evaluate(
    problem: FidelityProblem,
    method: str,
    found: Found,
    seconds: float,
    solvers: tuple[SolverVersion, ...] = (),
) -> Restored:
    """Recompute every figure of what a method found."""
    restored = problem.network.with_loads(found.p, found.q)
    displacement = np.concatenate([found.p, found.q]) - problem.noisy.T.ravel()
    slack = [band.slack(float(p)) for band, p in zip(found.bands, found.point.p, strict=True)]
    return Restored(
        network=restored,
        method=method,
        status=found.status,
        point=found.point,
        displacement=float(np.linalg.norm(displacement)),
        violations=violations(restored, found.point),
        bands=found.bands,
        band_slack=np.array(slack),
        band=problem.band,
        target=problem.target,
        checked=found.opf,
        solves=found.solves,
        iterations=found.iterations,
        seconds=seconds,
        extra_displacement=found.extra_displacement,
        agents=found.agents,
        solvers=solvers,
    )


def gaps_of(
    network: Network,
    band: BandKind,
    target: FloatArray,
    outputs: FloatArray,
    optimal: float | None = None,
) -> CostGaps:
    """Return how far a dispatch is from what a band is around.

    Args:
        network: The network; its loads play no part.
        band: What stays within β.
        target: What the band is around: costs O*_g in $/h, or outputs p*_g in p.u.
        outputs: The dispatch, in p.u.
        optimal: The optimal cost in $/h, if it is known.
    """
    if band is BandKind.NONE:
        return CostGaps()
    if band is BandKind.DISPATCH:
        return CostGaps(deviation=largest_deviation(network.generators, outputs, target))
    costs, total = network.generators.costs(outputs), float(target.sum())
    return CostGaps(
        dispatch=relative_gap(float(costs.sum()), total),
        worst_generator=worst_gap(costs, target),
        optimal=math.nan if optimal is None else relative_gap(optimal, total),
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


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
