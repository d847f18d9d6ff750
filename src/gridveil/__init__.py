"""Release power-network loads under local differential privacy, without breaking the network."""

from gridveil.errors import GridveilError
from gridveil.network.library import list_cases, load_case, save_case
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.status import Status

__version__ = "0.1.0"

__all__ = [
    "CaseError",
    "GridveilError",
    "Network",
    "OPFResult",
    "Status",
    "list_cases",
    "load_case",
    "save_case",
    "solve_acopf",
]
