"""Release power-network loads under local differential privacy, without breaking the network.

The whole of the public interface stands here, flat. Every command of the command line has a
function of the same name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridveil.admm.options import AgentOptions
    from gridveil.admm.policy import Policy
    from gridveil.claims import Claim
    from gridveil.errors import GridveilError
    from gridveil.experiments.paper.reproduce import reproduce
    from gridveil.experiments.simulate import Simulation, simulate
    from gridveil.experiments.study import Study
    from gridveil.experiments.summary import results
    from gridveil.experiments.sweep import sweep
    from gridveil.federation.deployment.assembly import assemble
    from gridveil.federation.deployment.federate import federate
    from gridveil.federation.deployment.members import coordinator, party
    from gridveil.federation.partition.ownership import partition
    from gridveil.federation.partition.splitting import split
    from gridveil.federation.transport import certs
    from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem, Found
    from gridveil.fidelity.phase import restore, restore_many
    from gridveil.fidelity.registry import METHODS
    from gridveil.fidelity.result import Restored
    from gridveil.network.formats.base import CaseFormat
    from gridveil.network.formats.registry import FORMATS
    from gridveil.network.library import as_network, cases, list_cases, load_case, save_case
    from gridveil.network.network import Network
    from gridveil.network.problems import CaseError
    from gridveil.opf.acopf import OPFResult, solve, solve_acopf
    from gridveil.opf.pandapower import ConversionWarning, from_pandapower, to_pandapower
    from gridveil.opf.status import Status
    from gridveil.privacy import budget
    from gridveil.privacy.audit import AuditResult, audit
    from gridveil.privacy.bounds import PublicBounds, read_bounds
    from gridveil.privacy.guarantee import Guarantee
    from gridveil.privacy.ledger import BudgetExceededError, Ledger
    from gridveil.privacy.mechanisms.base import Mechanism, MechanismSettings, StatedProtection
    from gridveil.privacy.mechanisms.clamp import Clamped
    from gridveil.privacy.mechanisms.piecewise import Piecewise
    from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
    from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
    from gridveil.privacy.mechanisms.registry import MECHANISMS, make_mechanism
    from gridveil.privacy.phase import NoisyLoads, privatise, simulate_loads
    from gridveil.publication.costs import PublicCosts
    from gridveil.publication.make import Release
    from gridveil.publication.plan import ReleasePlan, plan_release, release
    from gridveil.publication.verify import Verification, verify

__version__ = "0.2.0"

_MODULES = {
    "admm.options": ["AgentOptions"],
    "admm.policy": ["Policy"],
    "claims": ["Claim"],
    "errors": ["GridveilError"],
    "experiments.paper.reproduce": ["reproduce"],
    "experiments.simulate": ["Simulation", "simulate"],
    "experiments.study": ["Study"],
    "experiments.summary": ["results"],
    "experiments.sweep": ["sweep"],
    "federation.deployment.assembly": ["assemble"],
    "federation.deployment.federate": ["federate"],
    "federation.deployment.members": ["coordinator", "party"],
    "federation.partition.ownership": ["partition"],
    "federation.partition.splitting": ["split"],
    "federation.transport": ["certs"],
    "fidelity.base": ["BandKind", "FidelityMethod", "FidelityProblem", "Found"],
    "fidelity.phase": ["restore", "restore_many"],
    "fidelity.registry": ["METHODS"],
    "fidelity.result": ["Restored"],
    "network.formats.base": ["CaseFormat"],
    "network.formats.registry": ["FORMATS"],
    "network.library": ["as_network", "cases", "list_cases", "load_case", "save_case"],
    "network.network": ["Network"],
    "network.problems": ["CaseError"],
    "opf.acopf": ["OPFResult", "solve", "solve_acopf"],
    "opf.pandapower": ["ConversionWarning", "from_pandapower", "to_pandapower"],
    "opf.status": ["Status"],
    "privacy": ["budget"],
    "privacy.audit": ["AuditResult", "audit"],
    "privacy.bounds": ["PublicBounds", "read_bounds"],
    "privacy.guarantee": ["Guarantee"],
    "privacy.ledger": ["BudgetExceededError", "Ledger"],
    "privacy.mechanisms.base": ["Mechanism", "MechanismSettings", "StatedProtection"],
    "privacy.mechanisms.clamp": ["Clamped"],
    "privacy.mechanisms.piecewise": ["Piecewise"],
    "privacy.mechanisms.polar_laplace": ["PolarLaplace"],
    "privacy.mechanisms.product_laplace": ["ProductLaplace"],
    "privacy.mechanisms.registry": ["MECHANISMS", "make_mechanism"],
    "privacy.phase": ["NoisyLoads", "privatise", "simulate_loads"],
    "publication.costs": ["PublicCosts"],
    "publication.make": ["Release"],
    "publication.plan": ["ReleasePlan", "plan_release", "release"],
    "publication.verify": ["Verification", "verify"],
}
"""Where each public name lives; a module is imported when one of its names is first used."""
_SUBMODULES = {"budget": "privacy.budget", "certs": "federation.transport.certs"}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"gridveil.{_SUBMODULES[name]}")
    if name in _HOME:
        return getattr(import_module(f"gridveil.{_HOME[name]}"), name)
    raise AttributeError(f"module 'gridveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
