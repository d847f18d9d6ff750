"""From private series to restored ones: block by block, on all cores, kept on disk meanwhile."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.device import Device
from gridveil.fidelity.series.restore import blocks_of, device_of, workers_on
from gridveil.fidelity.series.result import RestoredSeries, joined
from gridveil.opf.solvers import chosen
from gridveil.parallel import in_parallel
from gridveil.publication.series.basis import SeriesBasis
from gridveil.publication.series.block import PARTS, BlockTask, SolvedBlock, solve_block
from gridveil.publication.series.state import RunState

BlockProgress = Callable[[int, int, float], None]
"""Called with the number of hours that are done, of all hours, and the seconds that are left."""


@dataclass(frozen=True, eq=False, repr=False)
class SolvedSeries(ArrayRecord):
    """What was found for all hours, and the private loads it was found from."""

    p: FloatArray
    """(hours, loads): smoothed private loads in p.u."""
    q: FloatArray
    restored: RestoredSeries
    targets: FloatArray
    optimal: FloatArray
    violations: FloatArray
    solves: tuple[tuple[str, ...], ...]
    """What was solved, by which solver, of which version, on which device."""
    smoothing_effect: str = ""
    """By how much smoothing moved the private loads, in words."""


def solve_series(
    basis: SeriesBasis,
    p: FloatArray,
    q: FloatArray,
    state: RunState,
    workers: int,
    progress: BlockProgress,
) -> SolvedSeries:
    """Restore all hours, going on with the blocks that are done.

    Args:
        basis: What was decided.
        p: Smoothed private loads in p.u., of shape (hours, loads).
        q: Reactive ones.
        state: Keeps the blocks that are done.
        workers: Processes; −1 is one per core, and on a GPU there is one. The result does not
            depend on it.
        progress: Told of every block.
    """
    device = device_of(basis.network, len(p))
    blocks = blocks_of(len(p), device if basis.ramps is None else Device.CPU)
    known = {n: one for n in range(len(blocks)) if (one := state.load(n)) is not None}
    clock = _Clock(blocks, known, progress)
    if basis.ramps is None:
        missing = [n for n in range(len(blocks)) if n not in known]
        tasks = [(n, solve_block, (_task(basis, p, q, blocks[n], None, device),)) for n in missing]
        for number, solved in in_parallel(tasks, workers_on(device, workers)):
            state.save(number, solved)
            known[number] = solved
            clock.tick(number)
    else:  # each block starts from the last dispatch of the one before
        before: FloatArray | None = None
        for number, block in enumerate(blocks):
            if number not in known:
                known[number] = solve_block(_task(basis, p, q, block, before, device))
                state.save(number, known[number])
                clock.tick(number)
            last = known[number].restored.points.p[-1]
            before = last if np.isfinite(last).all() else None
    solved_blocks = [known[number] for number in range(len(blocks))]

    def together(name: str) -> FloatArray:
        return np.concatenate([getattr(one, name) for one in solved_blocks])

    restored = joined([one.restored for one in solved_blocks])
    return SolvedSeries(
        p,
        q,
        restored,
        together("targets"),
        together("optimal"),
        together("violations"),
        _each_once(solved_blocks),
    )


def _each_once(blocks: Sequence[SolvedBlock]) -> tuple[tuple[str, ...], ...]:
    """Return what solved the parts of any block, in the order of parts and then of blocks."""
    found = dict.fromkeys(tuple(map(str, row)) for block in blocks for row in block.solves)
    return tuple(sorted(found, key=lambda solve: PARTS.index(solve[0])))


def _task(
    basis: SeriesBasis,
    p: FloatArray,
    q: FloatArray,
    block: range,
    before: FloatArray | None,
    device: Device,
) -> BlockTask:
    part = slice(block.start, block.stop)
    return BlockTask(
        basis.network,
        p[part],
        q[part],
        basis.band,
        basis.beta,
        basis.method,
        basis.weights,
        basis.limits,
        basis.ramps,
        before,
        chosen(),
        device,
    )


class _Clock:
    """Says how much is done, and estimates how long the rest takes."""

    def __init__(
        self, blocks: Sequence[range], known: Mapping[int, SolvedBlock], progress: BlockProgress
    ) -> None:
        self._blocks, self._progress = blocks, progress
        self._before = self._done = sum(len(blocks[number]) for number in known)
        self._all = sum(map(len, blocks))
        self._start = time.monotonic()

    def tick(self, block: int) -> None:
        """Count a block."""
        self._done += len(self._blocks[block])
        spent = time.monotonic() - self._start
        left = spent / (self._done - self._before) * (self._all - self._done)
        self._progress(self._done, self._all, left)
