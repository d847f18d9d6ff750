"""Many draws of one network side by side on a GPU; the host only looks now and then."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import cuda

from gridveil.admm.backends.cuda import kernels
from gridveil.admm.backends.cuda.graph import Graph
from gridveil.admm.backends.cuda.workspace import SUMS, Desk
from gridveil.admm.device import Device
from gridveil.admm.history import History
from gridveil.admm.iteration import COLUMNS
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.penalties import WINDOW
from gridveil.admm.policy import Policy
from gridveil.admm.state import State
from gridveil.arrays import FloatArray

ROWS = 1000
"""Iterations at most until the host looks."""
_AGENT_THREADS = 64
_MOST_BLOCKS = 512
"""Blocks that add up one draw."""


class GpuMachine:
    """Iterates draws whose whole state stays on the GPU."""

    device = Device.CUDA

    def __init__(
        self,
        layout: Layout,
        draws: Sequence[FloatArray],
        states: Sequence[State],
        options: AgentOptions,
    ) -> None:
        """Take runs up where they stand, all at the same iteration."""
        self.stream = cuda.stream()
        self._layout = _on_device(layout)
        self._noisy = cuda.to_device(np.stack(draws))
        stacked = State(*(np.stack(arrays) for arrays in zip(*states, strict=True)))
        self._states = _on_device(stacked)
        items = layout.first_line + 4 * len(layout.rate)
        self._blocks = min(_blocks(items, kernels.THREADS), _MOST_BLOCKS)
        desk = Desk(
            owner=layout.owners(),
            settled=np.zeros((len(draws), 4, len(layout.shunt_g))),
            sums=np.zeros((len(draws), SUMS, self._blocks)),
            done=np.zeros(len(draws), dtype=np.int64),
            history=np.zeros((ROWS, len(draws), COLUMNS)),
            rows=np.zeros(len(draws), dtype=np.int64),
            ended=np.ones(len(draws), dtype=np.int64),
            changes=np.zeros(len(draws), dtype=np.int64),
            verdict=np.zeros((len(draws), 2), dtype=np.int64),
            rho=np.exp(np.log(stacked.rho).mean(axis=1)),
        )
        self._desk = _on_device(desk)
        self._no_rows = np.zeros_like(desk.rows)
        self._iteration = stacked.iteration
        self._tolerance, self._as_the_paper = options.tolerance, options.policy is Policy.PAPER
        self._agents = layout.first_line - layout.generators + len(layout.rate)
        self._buses = len(layout.shunt_g)
        self._draws = len(draws)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that small networks leave a GPU idle
            self._compile(options)
            self._single = Graph(self.stream, self._step)
            self._window = Graph(self.stream, self._whole_window)
        self._desk.ended.copy_to_device(np.zeros_like(desk.ended))

    def advance(self, count: int) -> list[History]:
        """Do at most so many iterations of every draw that is not done."""
        count = min(count, ROWS)
        self.put(count)
        rows = self._desk.rows.copy_to_host(stream=self.stream)
        history = self._desk.history[:count].copy_to_host(stream=self.stream)
        self._iteration = self._states.iteration.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return [History(*history[: rows[draw], draw].T.copy()) for draw in range(self._draws)]

    def put(self, count: int) -> None:
        """Put so many iterations into the stream, at most ROWS, and do not wait for them."""
        self._desk.rows.copy_to_device(self._no_rows, self.stream)
        iteration = int(self._iteration[:, 0].max())
        end = iteration + count
        while iteration < end:
            whole = iteration % WINDOW == 0 and iteration + WINDOW <= end
            (self._window if whole else self._single).replay()
            iteration += WINDOW if whole else 1

    def calm(self, draw: int) -> float:
        """Return how many of a draw's last iterations had both residuals within the tolerance."""
        return float(self._iteration[draw, 1])

    def state(self, draw: int) -> State:
        """Copy where a draw stands to the host."""
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
        """Give the memory of the GPU back, and what was recorded."""
        del self._layout, self._noisy, self._states, self._desk
        self._single.close()
        self._window.close()

    def _compile(self, options: AgentOptions) -> None:
        """Launch every kernel once while all draws count as ended, so that nothing changes."""
        if not kernels.KERNELS.is_ready:
            options.say("compiling for the GPU, once for this version: about 15 seconds …")
        self._iterate()
        self._balance()
        self._follow()
        self.stream.synchronize()
        kernels.KERNELS.complete()

    def _step(self) -> None:
        """Launch one iteration, wherever in a window it stands."""
        self._iterate()
        self._change_penalties()

    def _whole_window(self) -> None:
        """Launch the iterations of a window."""
        for _ in range(WINDOW):
            self._iterate()
            if self._as_the_paper:
                self._change_penalties()
        if not self._as_the_paper:
            self._change_penalties()

    def _iterate(self) -> None:
        layout, noisy, states, desk = self._layout, self._noisy, self._states, self._desk
        self._launch(kernels.agents, self._agents, _AGENT_THREADS)(layout, noisy, states, desk)
        self._launch(kernels.buses, self._buses * kernels.BUS_LANES, kernels.BUS_THREADS)(
            layout, states, desk
        )
        self._launch(kernels.multipliers)(
            layout, noisy, states, desk, self._tolerance, self._as_the_paper
        )

    def _change_penalties(self) -> None:
        if self._as_the_paper:
            self._follow()
        else:
            self._balance()

    def _follow(self) -> None:
        self._launch(kernels.follow)(self._states, self._desk)

    def _balance(self) -> None:
        self._launch(kernels.rebalance)(self._layout, self._noisy, self._states, self._desk)
        self._launch(kernels.typify, 1)(self._states, self._desk, self._blocks)

    def _launch(self, kernel: Any, items: int = 0, threads: int = kernels.THREADS) -> Any:
        """Return a kernel with one thread an item, by default as many blocks as add up."""
        blocks = _blocks(items, threads) if items else self._blocks
        return kernel[(blocks, self._draws), threads, self.stream]


def bytes_for_all(layout: Layout) -> int:
    """Return how much memory the draws of a network share on the GPU."""
    return sum(array.nbytes for array in layout) + 8 * layout.size


def bytes_per_draw(layout: Layout) -> int:
    """Return how much more every draw takes."""
    vectors = 6 * layout.size + 5 * len(layout.rate) + 8 * layout.groups + 4 * len(layout.shunt_g)
    return 8 * (vectors + SUMS * _MOST_BLOCKS + COLUMNS * ROWS)


def _blocks(items: int, threads: int) -> int:
    return max(1, -(-items // threads))


def _on_device(arrays: Any) -> Any:
    """Copy all arrays of a named tuple to the GPU, and wait until they are there."""
    kind = type(arrays)
    assert issubclass(kind, tuple)
    return kind(*(cuda.to_device(np.ascontiguousarray(array)) for array in arrays))
