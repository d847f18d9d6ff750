"""Names and versions of the software that the bytes of a release depend on."""

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from gridveil.device import Device
from gridveil.publication.certificate import StatedSolve
from gridveil.publication.statements import GPU_PACKAGE, GPU_SOLVER_PACKAGES, PACKAGES


def software_of(
    agents_on_gpu: bool, solves: Sequence[StatedSolve], further: Iterable[str] = ()
) -> dict[str, str]:
    """Return what the bytes of a release depend on: solvers are part of it.

    So are the compiler of agents on a GPU, and what the interior-point method needs on one.

    Args:
        agents_on_gpu: Whether agents ran on a GPU.
        solves: What solved central programs.
        further: Packages that this kind of release needs too.
    """
    on_gpu = any(solve.device == Device.GPU.value for solve in solves)
    packages = [
        *PACKAGES,
        *further,
        *((GPU_PACKAGE,) if agents_on_gpu else ()),
        *(GPU_SOLVER_PACKAGES if on_gpu else ()),
    ]
    return {
        "gridveil": version("gridveil"),
        "python": platform.python_version(),
        **{name: found for name in packages if (found := _version_of(name))},
        **{solve.solver: solve.version for solve in solves},
    }


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
