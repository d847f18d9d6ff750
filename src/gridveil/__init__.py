"""Release power-network loads under local differential privacy, without breaking the network."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.errors import GridveilError
from gridveil.fidelity.phase import restore, restore_many
from gridveil.fidelity.registry import BandKind, Method
from gridveil.fidelity.result import Restored
from gridveil.network.library import list_cases, load_case, save_case
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.status import Status
from gridveil.privacy.bounds import PublicBounds, read_bounds
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger import BudgetExceededError, Ledger
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.phase import NoisyLoads, privatise, simulate_loads

if TYPE_CHECKING:
    from gridveil.opf.pandapower import from_pandapower, to_pandapower
    from gridveil.publication.make import Release, release
    from gridveil.publication.verify import Verification, verify

__version__ = "0.1.0"

__all__ = [
    "AgentOptions",
    "BandKind",
    "BudgetExceededError",
    "CaseError",
    "Clamped",
    "GridveilError",
    "Guarantee",
    "Ledger",
    "Method",
    "Network",
    "NoisyLoads",
    "OPFResult",
    "Piecewise",
    "PolarLaplace",
    "Policy",
    "ProductLaplace",
    "PublicBounds",
    "Release",
    "Restored",
    "Status",
    "Verification",
    "from_pandapower",
    "list_cases",
    "load_case",
    "privatise",
    "read_bounds",
    "release",
    "restore",
    "restore_many",
    "save_case",
    "simulate_loads",
    "solve_acopf",
    "to_pandapower",
    "verify",
]

_LATER = {
    "from_pandapower": "gridveil.opf.pandapower",
    "to_pandapower": "gridveil.opf.pandapower",
    "Release": "gridveil.publication.make",
    "release": "gridveil.publication.make",
    "Verification": "gridveil.publication.verify",
    "verify": "gridveil.publication.verify",
}


def __getattr__(name: str) -> Any:
    """Import what takes a while only when it is used."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'gridveil' has no attribute {name!r}")
