"""`simulate`: one seeded draw through both phases, as a study. Not private, spends no budget."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.admm.options import AgentOptions
from gridveil.defaults import BETA, CALIBRATION, EPSILON
from gridveil.device import Device
from gridveil.errors import NotSolvedError
from gridveil.fidelity.base import BandKind, FidelityMethod
from gridveil.fidelity.phase import check_choices, restore
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.result import Restored, relative_gap
from gridveil.html_table import html_table
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.solvers import Solver, using
from gridveil.opf.status import Status
from gridveil.privacy.bounds import PublicBounds, as_bounds, simulation_bounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.hide import Hide
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.privacy.phase import NoisyLoads, simulate_loads
from gridveil.privacy.ratings import PublicRatings
from gridveil.publication.costs import CostsLike, PublicCosts
from gridveil.publication.target_choice import choose_target, gives_cost_functions

_GIVEN = "the costs given"


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """One draw: the noisy loads, an AC-OPF of them alone, and the restored network."""

    network: Network
    beta: float
    original: OPFResult | None
    """The AC-OPF that O* comes from; None if O* was given."""
    noisy: NoisyLoads
    noisy_opf: OPFResult | None
    """An AC-OPF of the noisy loads alone; None if it was skipped."""
    restored: Restored
    central: Restored | None
    """The central solution to compare with, if requested."""
    checked: bool
    """Whether an AC-OPF of the restored network may be solved for its figures."""

    def figures(self) -> dict[str, Any]:
        """Return the figures of the study as plain numbers; gaps are relative to O*."""
        restored, alone = self.restored, self.noisy_opf
        found = restored.figures(solve_opf=self.checked and self._has_result)
        feasible = alone is not None and alone.status.solved
        noisy_gap = None
        if alone is not None and feasible and restored.band.on_costs:
            noisy_gap = relative_gap(alone.cost, found["cost"])
        shown = {
            **found,
            "message": restored.status.value,
            "acopf_seconds": None if self.original is None else self.original.solve_seconds,
            "noisy_feasible": None if alone is None else feasible,
            "noisy_cost_gap": noisy_gap,
            "agents_status": None if restored.agents is None else _agents_status(restored),
            "iterations_per_second": None
            if restored.agents is None
            else restored.agents.iterations_per_second,
            **restored.comparison(self.central),
        }
        if not self._has_result:
            shown |= dict.fromkeys(
                (
                    "displacement",
                    "extra_displacement",
                    "largest_deviation",
                    "cost_gap_dispatch",
                    "worst_generator_gap",
                    "cost_gap_optimal",
                    "worst_generator_gap_optimal",
                )
            )
        return shown

    @property
    def _has_result(self) -> bool:
        """Whether the restored loads are a result: a solution, or the last iterate of agents."""
        return self.restored.status.solved or self.restored.agents is not None

    def __repr__(self) -> str:
        return f"Simulation({self.network.name!r}, not private: {self.restored.status.value})"

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), value)
            for name, value in self.figures().items()
            if value is not None
        ]
        return html_table(repr(self), ("figure", "value"), rows)


def simulate(
    network: Network | str | Path,
    *,
    epsilon: Number = EPSILON,
    hide: Hide | str | None = None,
    floor: Number | None = None,
    ratings: PublicRatings | str | Path | None = None,
    ratings_source: str = "",
    alpha: Number | None = None,
    beta: Number = BETA,
    mechanism: Mechanism | str | None = None,
    calibration: str = CALIBRATION,
    bounds: PublicBounds | str | Path | None = None,
    seed: int = 1,
    method: FidelityMethod | str | None = None,
    band: BandKind | str | None = None,
    agents: AgentOptions | None = None,
    costs: CostsLike | None = None,
    solver: Solver | str | None = None,
    device: Device | str | None = None,
    unchecked: bool = False,
    compare_central: bool = False,
    notify: Callable[[str], None] = lambda _: None,
) -> Simulation:
    """Study one draw: noise from a seed, then the fidelity phase. Not private.

    Args:
        network: The network, or its name or path.
        epsilon: The budget ε.
        hide: The change of a load that is hidden: "10%" of each load (if nothing is said),
            "5MVA", or "20%rating" of each load's public rating.
        floor: For hide in per cent: the load in MVA below which it turns into a fixed amount.
        ratings: The public ratings of loads, their file, or "sn_mva".
        ratings_source: Where a file's or a column's ratings were published.
        alpha: The same as hide, as the paper says it: a distance α in p.u.
        beta: How far costs may be off O*, relatively, or outputs off p*, as a share of ranges.
        mechanism: A name of the registry, or a mechanism, which has its own ε and distance.
        calibration: Of a mechanism by name that has several.
        bounds: Public bounds; a mechanism that needs them takes them from the loads if None.
        seed: The draw.
        method: How the fidelity phase is solved; None takes the default of the band.
        band: What stays within beta: "cost", "total", "dispatch" or "none"; see `plan_release`.
        agents: How agents run, for a method that has agents.
        costs: Known costs O*; computed by an AC-OPF if None. Or a CSV file of marginal costs.
        solver: What solves central programs: "ipopt", "interior-point" or "auto".
        device: Where they are solved, and where agents run: "cpu", "gpu" or "auto".
        unchecked: Skip two solves that take minutes on large networks: an AC-OPF of the noisy
            loads, and one of the restored network.
        compare_central: Also find the central solution, for the distance to it.
        notify: Called with the name of each phase.

    Example:
        >>> from gridveil import simulate
        >>> simulate("case5_pjm", beta=0.05, seed=3).restored.status.solved
        True
    """
    is_known = not (costs is None or isinstance(costs, PublicCosts) or gives_cost_functions(costs))
    source = _GIVEN if is_known else ""
    held = choose_target(as_network(network), band, costs, source, None, "", ())
    network, kind, known = held.network, held.band, held.known
    if isinstance(mechanism, str | None):
        limits = as_bounds(bounds, network)
        if limits is None and mechanism is not None and MECHANISMS.get(mechanism).needs_bounds:
            limits = simulation_bounds(network)
        choice = noise_choice(
            mechanism, hide, alpha, floor, ratings, calibration, limits, ratings_source
        )
        chosen = choice.make(network, epsilon)
    else:
        chosen = mechanism
    way, share = make_method(method, agents, kind), float(exact(beta, "beta"))
    check_choices(way, share, kind)
    with using(solver, device):
        notify(f"solving {network.name}")
        original: OPFResult | None = None
        public = dispatch = None
        if known is not None:
            public = known.values
        elif kind is not BandKind.NONE:
            original = _solved(network)
            public = original.generator_costs if kind.on_costs else None
            dispatch = None if kind.on_costs else original.point.p
        noisy = simulate_loads(network, chosen, seed)
        noisy_opf = None
        if not unchecked:
            notify("solving the noisy network")
            noisy_opf = solve_acopf(network.with_loads(noisy.p, noisy.q))
        notify("restoring")
        restored = restore(network, noisy, public, share, way, kind, dispatch=dispatch)
        in_a_hurry = restored.status is Status.STOPPED  # by Ctrl-C
        central = None
        if compare_central and not in_a_hurry:
            central = restore(network, noisy, public, share, "central", kind, dispatch=dispatch)
        checked = not (unchecked or in_a_hurry)
        return Simulation(network, share, original, noisy, noisy_opf, restored, central, checked)


def _solved(network: Network) -> OPFResult:
    """Return the AC-OPF of the network itself, or refuse a network that has none."""
    original = solve_acopf(network)
    if not original.status.solved:
        raise NotSolvedError(
            f"{network.name} itself has no AC-OPF solution, so there is nothing to keep: "
            f"{original.diagnosis or original.status.value}"
        )
    return original


def _agents_status(restored: Restored) -> str:
    assert restored.agents is not None
    return restored.agents.status.name.lower()
