"""P_RBL solved among agents, by ADMM, and what they agree on as a network's operating point."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from gridveil.admm.backends.cpu import compile_agents
from gridveil.admm.device import chosen_device
from gridveil.admm.draw import Draw, make_draw
from gridveil.admm.engine import run_agents, run_together
from gridveil.admm.layout import Layout, build_layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.result import AgentRun
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.device import Device
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem, Found
from gridveil.fidelity.central import Attempt, bands_of, nearest_loads
from gridveil.interruption import stop_on_interrupt
from gridveil.network.network import Network
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.status import Status

_SLACK = 10.0
"""How many times the tolerance violations may be, per unit of a bus's admittance."""


@dataclass(frozen=True)
class Agents(FidelityMethod):
    """P_RBL among agents, by ADMM; Ctrl-C ends it with what was reached."""

    name: ClassVar[str] = "admm"
    has_agents: ClassVar[bool] = True
    options: AgentOptions = field(default_factory=AgentOptions)

    @classmethod
    def with_options(cls, agents: AgentOptions | None) -> "Agents":
        """Make it with options of the agents."""
        return cls(agents or AgentOptions())

    def for_release(self) -> "Agents":
        """Return it with a central last step, if that was left open."""
        if self.options.polish is not None:
            return self
        return Agents(replace(self.options, polish=True))

    def check(self, band: BandKind) -> None:
        """Refuse a band on the total cost, and a GPU that is not there."""
        if band is BandKind.TOTAL:
            raise GridveilError(
                "a band on the total cost couples all generators, which agents on their own cannot "
                "keep; use the bands per generator, or another method"
            )
        chosen_device(self.options.device, 0)

    def prepare(self, problem: FidelityProblem) -> None:
        """Compile the agents, if they are not: Ctrl-C interrupts that as usual."""
        _, layout = _laid_out(problem)
        compile_agents(layout, _draw(problem), self.options)

    def solve(self, problem: FidelityProblem) -> Found:
        """Return the loads that the agents agree on."""
        return self.solve_from(problem, None)

    def solve_from(self, problem: FidelityProblem, before: State | None) -> Found:
        """Return the loads that the agents agree on, from where they ended for other loads.

        Args:
            problem: The problem.
            before: The last state of the same agents; it is not changed.
        """
        bands, layout = _laid_out(problem)
        with stop_on_interrupt() as stop:
            run = run_agents(layout, _draw(problem), self.options, stop, before=before)
        return _found(problem, bands, layout, run, self.options)

    def solve_many(
        self,
        problems: Sequence[FidelityProblem],
        threads: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Found]:
        """Solve problems that differ in noise: on a GPU side by side, on a CPU one to a thread."""
        options = self.options
        if threads is not None and threads < 1:
            raise GridveilError(f"threads: {threads} must be 1 or more")
        if options.checkpoint is not None:
            raise GridveilError(
                "a checkpoint holds one run; restore the draws one by one to use it"
            )
        if not problems:
            return []
        bands, layout = _laid_out(problems[0])
        draws = [_draw(problem) for problem in problems]
        with stop_on_interrupt() as stop:
            if chosen_device(options.device, len(draws) * len(layout.rate)) is Device.GPU:
                runs = run_together(layout, draws, options, stop, progress)
            else:
                runs = _on_threads(layout, draws, options, threads, stop, progress)
        return [
            _found(problem, bands, layout, run, options)
            for problem, run in zip(problems, runs, strict=True)
        ]


def _laid_out(problem: FidelityProblem) -> tuple[tuple[Band, ...], Layout]:
    """Return the bands of the generators, and the agents."""
    bands, _ = bands_of(problem.network, problem.target, problem.beta, problem.band)
    return bands, build_layout(problem.network, [band.intervals for band in bands])


def _draw(problem: FidelityProblem) -> Draw:
    """Return the noisy loads, their weights and limits as the agents take them."""
    noisy, limits = problem.noisy.T.ravel(), problem.limits
    if limits is None:
        return make_draw(noisy, problem.weights)
    return make_draw(noisy, problem.weights, limits.p_min, limits.slopes)


def _on_threads(
    layout: Layout,
    draws: Sequence[Draw],
    options: AgentOptions,
    threads: int | None,
    stop: threading.Event,
    progress: Callable[[int], None] | None,
) -> list[AgentRun]:
    """Run many draws on the cores, one to a thread."""
    options = replace(options, device=Device.CPU)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        tasks = [pool.submit(run_agents, layout, draw, options, stop, False) for draw in draws]
        for done, _ in enumerate(as_completed(tasks), 1):
            if progress is not None:
                progress(done)
    return [task.result() for task in tasks]


def consensus(layout: Layout, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the magnitude and angle of the voltage that each bus settled on."""
    first, has_lines = layout.end_start[:-1], np.diff(layout.end_start) > 0
    w, theta = np.ones(len(first)), np.zeros(len(first))
    w[has_lines] = state.z[layout.end_w[first[has_lines]]]
    theta[has_lines] = state.z[layout.end_angle[first[has_lines]]]
    for bus in np.flatnonzero(~has_lines):
        ports = slice(layout.port_start[bus], layout.port_start[bus + 1])
        sign, g, b = layout.port_sign[ports], layout.shunt_g[bus], layout.shunt_b[bus]
        p, q = (sign @ state.z[port[ports]] for port in (layout.port_p, layout.port_q))
        fed = (g * p - b * q) / (g * g + b * b) if g or b else 1.0
        w[bus] = np.clip(fed, layout.w_min[bus], layout.w_max[bus])
    return np.sqrt(np.maximum(w, 0.0)), theta


def agreed_point(
    layout: Layout, state: State, loads: int
) -> tuple[FloatArray, FloatArray, OperatingPoint]:
    """Return the loads p and q, the outputs and the voltages that the agents agreed on."""
    p, q = state.x[: 2 * loads].reshape(2, -1)
    outputs = state.x[2 * loads :][: 2 * layout.generators].reshape(2, -1)
    return p, q, OperatingPoint(*consensus(layout, state), *outputs)


def _found(
    problem: FidelityProblem,
    bands: tuple[Band, ...],
    layout: Layout,
    run: AgentRun,
    options: AgentOptions,
) -> Found:
    """Return the agents' result, polished if wanted: P_RBL once more, started from there."""
    network, noisy = problem.network, problem.noisy
    p, q, point = agreed_point(layout, run.state, len(network.loads))
    status = _accepted(network.with_loads(p, q), point, run.status, options.tolerance)
    if not options.polish or run.status in (Status.STOPPED, Status.FAILED):
        return Found(status, p, q, point, bands, 0, run.iterations, agents=run)
    reached = Attempt(run.status, p, q, point, run.iterations)
    best, solves, _ = nearest_loads(
        network, noisy, bands, None, (), reached, problem.weights, problem.limits
    )
    return Found(best.status, best.p, best.q, best.point, bands, solves, run.iterations, agents=run)


def _accepted(network: Network, point: OperatingPoint, status: Status, tolerance: float) -> Status:
    """Accept convergence only if the violations are within what the tolerance implies.

    Voltages that are off by the tolerance put a bus's balance off by Σ|y| times as much.
    """
    if status is not Status.CONVERGED:
        return status
    admittance = np.abs(network.lines.y_ff) + np.abs(network.lines.y_tt)
    stiffness = np.zeros(len(network.buses))
    np.add.at(stiffness, network.lines.from_bus, admittance)
    np.add.at(stiffness, network.lines.to_bus, admittance)
    allowed = _SLACK * tolerance * (1.0 + float(stiffness.max(initial=0.0)))
    kept = violations(network, point).largest <= max(allowed, FEASIBILITY_TOLERANCE)
    return status if kept else Status.INFEASIBLE
