"""CUDA graphs: kernel launches captured once and replayed as a whole.

A launch from Python takes longer than most kernels; a graph of many kernels is one launch.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda


class Graph:
    """The kernel launches of a function, captured for repeated replay."""

    def __init__(self, stream: Any, launch: Callable[[], None]) -> None:
        """Capture the launches. The kernels must have been compiled and loaded before."""
        if cuda_is_simulated():
            self._launch = launch
            return
        from cuda.bindings import driver

        handle = driver.CUstream(int(stream.handle))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with cuda.defer_cleanup():  # freeing memory would invalidate the capture
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
        """Launch everything once more."""
        if cuda_is_simulated():
            self._launch()
        else:
            _call(self._driver.cuGraphLaunch(self._graph, self._handle))

    def close(self) -> None:
        """Release the graph."""
        if not cuda_is_simulated():
            _call(self._driver.cuGraphExecDestroy(self._graph))


def cuda_is_simulated() -> bool:
    """Whether kernels run in Numba's simulator, which has no graphs."""
    from numba.cuda import config

    return bool(config.ENABLE_CUDASIM)


def gpu_kind() -> str:
    """Return a name of the GPU's compute capability, for which code is compiled."""
    if cuda_is_simulated():
        return "simulated"
    return "cuda{}{}".format(*cuda.get_current_device().compute_capability)


def _call(answer: tuple[Any, ...]) -> Any:
    """Return the result of a function of the driver, or raise its error as Numba does."""
    code, *rest = answer
    if code.value:
        from numba.cuda.cudadrv.driver import CudaAPIError

        raise CudaAPIError(code.value, code.name)
    return rest[0] if rest else None
