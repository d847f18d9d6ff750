"""The CUDA backend: many draws of one network side by side on a GPU."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import cuda

from gridveil.admm.backends.cuda import kernels
from gridveil.admm.backends.cuda.graph import Graph
from gridveil.admm.backends.cuda.workspace import MOST_BLOCKS, ROWS, new_workspace
from gridveil.admm.draw import Draw
from gridveil.admm.history import History
from gridveil.admm.layout import GROUPS_PER_LINE, Layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.penalties import WINDOW
from gridveil.admm.policy import Policy
from gridveil.admm.state import State
from gridveil.device import Device

_AGENT_THREADS = 64


class CudaBackend:
    """Iterates draws whose whole state stays on the GPU."""

    device = Device.GPU

    def __init__(
        self,
        layout: Layout,
        draws: Sequence[Draw],
        states: Sequence[State],
        options: AgentOptions,
    ) -> None:
        """Continue from the states of the draws, all at the same iteration."""
        self.stream = cuda.stream()
        self._layout = _on_device(layout)
        self._loads = _on_device(Draw(*map(np.stack, zip(*draws, strict=True))))
        stacked = State(*(np.stack(arrays) for arrays in zip(*states, strict=True)))
        self._states = _on_device(stacked)
        items = layout.first_line + GROUPS_PER_LINE * len(layout.rate)
        self._blocks = min(_blocks(items, kernels.THREADS), MOST_BLOCKS)
        workspace = new_workspace(layout, len(draws), self._blocks)
        workspace.rho[:] = np.exp(np.log(stacked.rho).mean(axis=1))
        self._workspace = _on_device(workspace)
        self._no_rows = np.zeros_like(workspace.rows)
        self._iteration = stacked.iteration
        self._within_tolerance_count = stacked.within_tolerance_count
        self._tolerance, self._paper_rule = options.tolerance, options.policy is Policy.PAPER
        self._agents = layout.first_line - layout.generators + len(layout.rate)
        self._buses = len(layout.shunt_g)
        self._draws = len(draws)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that small networks use little of a GPU
            self._compile(options)
            self._single = Graph(self.stream, self._step)
            self._window = Graph(self.stream, self._whole_window)
        self._workspace.finished.copy_to_device(np.zeros_like(workspace.finished))

    def advance(self, count: int) -> list[History]:
        """Do at most so many iterations of every draw that has not finished."""
        count = min(count, ROWS)
        self.put(count)
        rows = self._workspace.rows.copy_to_host(stream=self.stream)
        history = self._workspace.history[:count].copy_to_host(stream=self.stream)
        self._iteration, self._within_tolerance_count = (
            array.copy_to_host(stream=self.stream)
            for array in (self._states.iteration, self._states.within_tolerance_count)
        )
        self.stream.synchronize()
        return [History(*history[: rows[draw], draw].T.copy()) for draw in range(self._draws)]

    def put(self, count: int) -> None:
        """Launch so many iterations, at most ROWS, and do not wait for them."""
        self._workspace.rows.copy_to_device(self._no_rows, self.stream)
        iteration = int(self._iteration.max())
        end = iteration + count
        while iteration < end:
            whole = iteration % WINDOW == 0 and iteration + WINDOW <= end
            (self._window if whole else self._single).replay()
            iteration += WINDOW if whole else 1

    def within_tolerance_count(self, draw: int) -> float:
        """Return for how many consecutive iterations a draw has been within the tolerance."""
        return float(self._within_tolerance_count[draw, 0])

    def state(self, draw: int) -> State:
        """Copy the current state of a draw to the host."""
        state = State(
            *(
                array[draw].copy_to_host(stream=self.stream)
                if array.size
                else np.empty(array.shape[1:])  # of a network without lines
                for array in self._states
            )
        )
        self.stream.synchronize()
        return state

    def close(self) -> None:
        """Release the memory of the GPU, and the graphs."""
        del self._layout, self._loads, self._states, self._workspace
        self._single.close()
        self._window.close()

    def _compile(self, options: AgentOptions) -> None:
        """Launch every kernel once while all draws count as finished, so that nothing changes."""
        if not kernels.KERNELS.is_ready:
            options.notify("compiling for the GPU, once for this version: about 15 seconds …")
        self._iterate()
        self._balance_residuals()
        self._apply_paper_rule()
        self.stream.synchronize()
        kernels.KERNELS.complete()

    def _step(self) -> None:
        """Launch one iteration, at any place in a window."""
        self._iterate()
        self._change_penalties()

    def _whole_window(self) -> None:
        """Launch the iterations of a window."""
        for _ in range(WINDOW):
            self._iterate()
            if self._paper_rule:
                self._change_penalties()
        if not self._paper_rule:
            self._change_penalties()

    def _iterate(self) -> None:
        layout, loads = self._layout, self._loads
        states, workspace = self._states, self._workspace
        self._launch(kernels.update_agents, self._agents, _AGENT_THREADS)(
            layout, loads, states, workspace
        )
        self._launch(kernels.solve_buses, self._buses * kernels.BUS_LANES, kernels.BUS_THREADS)(
            layout, states, workspace
        )
        self._launch(kernels.update_multipliers)(
            layout, loads, states, workspace, self._tolerance, self._paper_rule
        )

    def _change_penalties(self) -> None:
        if self._paper_rule:
            self._apply_paper_rule()
        else:
            self._balance_residuals()

    def _apply_paper_rule(self) -> None:
        self._launch(kernels.apply_paper_penalty)(self._states, self._workspace)

    def _balance_residuals(self) -> None:
        self._launch(kernels.update_penalties)(
            self._layout, self._loads, self._states, self._workspace
        )
        self._launch(kernels.average_penalties, 1)(self._states, self._workspace, self._blocks)

    def _launch(self, kernel: Any, items: int = 0, threads: int = kernels.THREADS) -> Any:
        """Return a kernel with one thread per item, by default with the blocks that sum up."""
        blocks = _blocks(items, threads) if items else self._blocks
        return kernel[(blocks, self._draws), threads, self.stream]


def _blocks(items: int, threads: int) -> int:
    return max(1, -(-items // threads))


def _on_device(arrays: Any) -> Any:
    """Copy all arrays of a named tuple to the GPU, and wait for it."""
    kind = type(arrays)
    assert issubclass(kind, tuple)
    return kind(*(cuda.to_device(np.ascontiguousarray(array)) for array in arrays))
