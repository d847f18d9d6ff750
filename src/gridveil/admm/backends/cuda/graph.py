"""Kernel launches recorded once and replayed as a whole: a CUDA graph.

A launch from Python takes longer than most kernels; a graph of hundreds is one launch.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda


class Graph:
    """What `launch` puts into a stream, to be done again and again."""

    def __init__(self, stream: Any, launch: Callable[[], None]) -> None:
        """Record. The kernels must have been compiled and loaded before."""
        if cuda_is_simulated():
            self._launch = launch
            return
        from cuda.bindings import driver

        handle = driver.CUstream(int(stream.handle))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with cuda.defer_cleanup():  # freeing memory would spoil the record
            _call(driver.cuStreamBeginCapture(handle, mode))
            try:
                launch()
            finally:
                graph = _call(driver.cuStreamEndCapture(handle))
        self._driver, self._handle = driver, handle
        try:
            self._graph = _call(driver.cuGraphInstantiate(graph, 0))
        finally:
            _call(driver.cuGraphDestroy(graph))

    def replay(self) -> None:
        """Put everything into the stream once more."""
        if cuda_is_simulated():
            self._launch()
        else:
            _call(self._driver.cuGraphLaunch(self._graph, self._handle))

    def close(self) -> None:
        """Give it back to the driver."""
        if not cuda_is_simulated():
            _call(self._driver.cuGraphExecDestroy(self._graph))


def cuda_is_simulated() -> bool:
    """Whether kernels run in Numba's simulator, which knows no graphs."""
    from numba.cuda import config

    return bool(config.ENABLE_CUDASIM)


def kind_of_gpu() -> str:
    """Return what code for one GPU and not another is named after."""
    if cuda_is_simulated():
        return "simulated"
    return "cuda{}{}".format(*cuda.get_current_device().compute_capability)


def _call(answer: tuple[Any, ...]) -> Any:
    """Return what a function of the driver gave, or raise its error as Numba does."""
    code, *rest = answer
    if code.value:
        from numba.cuda.cudadrv.driver import CudaAPIError

        raise CudaAPIError(code.value, code.name)
    return rest[0] if rest else None
