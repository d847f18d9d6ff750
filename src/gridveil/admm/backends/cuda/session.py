"""A session on a GPU: how many draws fit, and errors of the GPU turned into advice."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gridveil.admm.backends.cuda.availability import advice_on
from gridveil.admm.backends.cuda.workspace import bytes_for_all, bytes_per_draw
from gridveil.admm.draw import Draw
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.state import State
from gridveil.errors import GridveilError

if TYPE_CHECKING:
    from gridveil.admm.backends.cuda.backend import CudaBackend

_MEMORY_SHARE = 0.9
"""The share of the free memory to fill."""
_MOST_DRAWS = 65_535
"""The largest number of rows in a grid of blocks."""
_LIBRARIES = ("numba.cuda", "numba_cuda", "cuda.")


def batch_size(layout: Layout, draws: int) -> int:
    """Return how many of so many draws fit onto the GPU at once; at least one."""
    from numba import cuda

    from gridveil.admm.backends.cuda.graph import cuda_is_simulated

    if cuda_is_simulated():
        return draws
    with _errors_as_advice():
        free = cuda.current_context().get_memory_info().free
    fitting = int((_MEMORY_SHARE * free - bytes_for_all(layout)) / bytes_per_draw(layout))
    return max(1, min(draws, fitting, _MOST_DRAWS))


@contextmanager
def cuda_backend(
    layout: Layout,
    draws: Sequence[Draw],
    states: Sequence[State],
    options: AgentOptions,
) -> Iterator["CudaBackend"]:
    """Open a CUDA backend, and turn errors of the GPU into advice."""
    with _errors_as_advice(options.checkpoint):
        from gridveil.admm.backends.cuda.backend import CudaBackend

        backend = CudaBackend(layout, draws, states, options)
        try:
            yield backend
        except BaseException:
            with suppress(Exception):  # of a lost GPU, for example: the first error counts
                backend.close()
            raise
        backend.close()


@contextmanager
def _errors_as_advice(checkpoint: Path | str | None = None) -> Iterator[None]:
    """Turn an error of the libraries for GPUs into one that says what to do."""
    try:
        yield
    except Exception as error:
        of_gpu = type(error).__module__.startswith(_LIBRARIES) or str(error).startswith("Function ")
        if not of_gpu:
            raise
        onward = "" if checkpoint is None else f"; either goes on from {checkpoint}"
        raise GridveilError(advice_on(error) + onward) from error
