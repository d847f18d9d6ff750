"""Whether the interior-point method can use the GPU of this machine, and advice where it cannot."""

from importlib.util import find_spec

from gridveil.device import EXTRA, ON_CPU, DeviceError, known_advice, one_line


def why_no_gpu() -> str | None:
    """Return why no GPU can be used here, with advice; None if one can.

    Everything that a solve needs is tried out: CuPy, the driver, memory, the compiler, cuDSS.
    """
    if find_spec("cupy") is None:
        return f"the interior-point method on a GPU needs CuPy and cuDSS: {EXTRA}; {ON_CPU}"
    try:
        import cupy

        if not cupy.cuda.runtime.getDeviceCount():
            return f"no NVIDIA GPU can be used here; {ON_CPU}"
        _run_smallest_kernel()
    except Exception as error:  # whatever a broken driver or installation raises
        return known_advice(error) or (
            f"CuPy cannot use a GPU here: {EXTRA} brings what it needs beside a driver; "
            f"{ON_CPU} ({type(error).__name__}: {one_line(error)})"
        )
    try:
        _plan_smallest_matrix()
    except DeviceError as error:
        return f"{error}; {ON_CPU}"
    except Exception as error:
        return known_advice(error) or (
            f"cuDSS cannot be used here: {EXTRA} brings it; "
            f"{ON_CPU} ({type(error).__name__}: {one_line(error)})"
        )
    return None


def _run_smallest_kernel() -> None:
    """Compile for the GPU and launch: only then does an old driver or a lost GPU raise an error."""
    import cupy

    kernel = cupy.RawKernel('extern "C" __global__ void one(double* x) { x[0] = 1.0; }', "one")
    target = cupy.zeros(1)
    kernel((1,), (1,), (target,))
    cupy.cuda.get_current_stream().synchronize()


def _plan_smallest_matrix() -> None:
    """Factorise a matrix of one number."""
    import cupy

    from gridveil.opf.interior_point.cuda.cudss import CuDSS
    from gridveil.opf.interior_point.cuda.recording import on_stream

    with on_stream():
        start, column = cupy.asarray([0, 1], "int32"), cupy.zeros(1, "int32")
        CuDSS(start, column, cupy.ones(1)).factorise()
