"""Release power-network loads under local differential privacy, without breaking the network.

The whole of the public interface stands here, flat. Every command of the command line has a
function of the same name; that of `export` is `export_release`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridveil.admm.options import AgentOptions as AgentOptions
    from gridveil.admm.policy import Policy as Policy
    from gridveil.claims import Claim as Claim
    from gridveil.errors import GridveilError as GridveilError
    from gridveil.experiments.dataset.make import dataset as dataset
    from gridveil.experiments.paper.reproduce import reproduce as reproduce
    from gridveil.experiments.simulate import (
        Simulation as Simulation,
    )
    from gridveil.experiments.simulate import (
        simulate as simulate,
    )
    from gridveil.experiments.study import Study as Study
    from gridveil.experiments.summary import results as results
    from gridveil.experiments.sweep import sweep as sweep
    from gridveil.federation.deployment.assembly import assemble as assemble
    from gridveil.federation.deployment.federate import federate as federate
    from gridveil.federation.deployment.members import (
        coordinator as coordinator,
    )
    from gridveil.federation.deployment.members import (
        party as party,
    )
    from gridveil.federation.partition.ownership import partition as partition
    from gridveil.federation.partition.splitting import split as split
    from gridveil.federation.transport import certs as certs
    from gridveil.fidelity.base import (
        BandKind as BandKind,
    )
    from gridveil.fidelity.base import (
        FidelityMethod as FidelityMethod,
    )
    from gridveil.fidelity.base import (
        FidelityProblem as FidelityProblem,
    )
    from gridveil.fidelity.base import (
        Found as Found,
    )
    from gridveil.fidelity.load_limits import LoadLimits as LoadLimits
    from gridveil.fidelity.phase import (
        restore as restore,
    )
    from gridveil.fidelity.phase import (
        restore_many as restore_many,
    )
    from gridveil.fidelity.quantities import RestoredQuantities as RestoredQuantities
    from gridveil.fidelity.quantities import restore_quantities as restore_quantities
    from gridveil.fidelity.quantities_bilevel import RestoredOptimum as RestoredOptimum
    from gridveil.fidelity.quantities_bilevel import restore_optimum as restore_optimum
    from gridveil.fidelity.registry import METHODS as METHODS
    from gridveil.fidelity.result import Restored as Restored
    from gridveil.fidelity.series.restore import restore_series as restore_series
    from gridveil.fidelity.series.result import RestoredSeries as RestoredSeries
    from gridveil.network.formats.base import CaseFormat as CaseFormat
    from gridveil.network.formats.registry import FORMATS as FORMATS
    from gridveil.network.library import (
        as_network as as_network,
    )
    from gridveil.network.library import (
        cases as cases,
    )
    from gridveil.network.library import (
        list_cases as list_cases,
    )
    from gridveil.network.library import (
        load_case as load_case,
    )
    from gridveil.network.library import (
        save_case as save_case,
    )
    from gridveil.network.marginal_costs import (
        with_marginal_costs as with_marginal_costs,
    )
    from gridveil.network.network import Network as Network
    from gridveil.network.problems import CaseError as CaseError
    from gridveil.network.series.load_series import LoadSeries as LoadSeries
    from gridveil.network.series.reading import load_series as load_series
    from gridveil.network.series.shapes import example_series as example_series
    from gridveil.network.series.writing import profiles as profiles
    from gridveil.network.series.writing import save_series as save_series
    from gridveil.opf.acopf import (
        OPFResult as OPFResult,
    )
    from gridveil.opf.acopf import (
        solve as solve,
    )
    from gridveil.opf.acopf import (
        solve_acopf as solve_acopf,
    )
    from gridveil.opf.cost_gradients import CostGradients as CostGradients
    from gridveil.opf.cost_gradients import cost_gradients as cost_gradients
    from gridveil.opf.multi_hour import solve_multi_hour as solve_multi_hour
    from gridveil.opf.pandapower import (
        ConversionWarning as ConversionWarning,
    )
    from gridveil.opf.pandapower import (
        from_pandapower as from_pandapower,
    )
    from gridveil.opf.pandapower import (
        to_pandapower as to_pandapower,
    )
    from gridveil.opf.solvers import Solver as Solver
    from gridveil.opf.solvers import using as using
    from gridveil.opf.status import Status as Status
    from gridveil.privacy import budget as budget
    from gridveil.privacy.audit import (
        AuditResult as AuditResult,
    )
    from gridveil.privacy.audit import (
        audit as audit,
    )
    from gridveil.privacy.bounds import (
        PublicBounds as PublicBounds,
    )
    from gridveil.privacy.bounds import (
        read_bounds as read_bounds,
    )
    from gridveil.privacy.guarantee import Guarantee as Guarantee
    from gridveil.privacy.hide import Hide as Hide
    from gridveil.privacy.ledger.ledger import Ledger as Ledger
    from gridveil.privacy.ledger.records import (
        BudgetExceededError as BudgetExceededError,
    )
    from gridveil.privacy.mechanisms.base import (
        Mechanism as Mechanism,
    )
    from gridveil.privacy.mechanisms.base import (
        MechanismSettings as MechanismSettings,
    )
    from gridveil.privacy.mechanisms.base import (
        StatedProtection as StatedProtection,
    )
    from gridveil.privacy.mechanisms.clamp import Clamped as Clamped
    from gridveil.privacy.mechanisms.piecewise import Piecewise as Piecewise
    from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace as PolarLaplace
    from gridveil.privacy.mechanisms.product_laplace import ProductLaplace as ProductLaplace
    from gridveil.privacy.mechanisms.rated_laplace import RatedLaplace as RatedLaplace
    from gridveil.privacy.mechanisms.registry import (
        MECHANISMS as MECHANISMS,
    )
    from gridveil.privacy.mechanisms.registry import (
        make_mechanism as make_mechanism,
    )
    from gridveil.privacy.mechanisms.relative_laplace import RelativeLaplace as RelativeLaplace
    from gridveil.privacy.phase import (
        NoisyLoads as NoisyLoads,
    )
    from gridveil.privacy.phase import (
        privatise as privatise,
    )
    from gridveil.privacy.phase import (
        simulate_loads as simulate_loads,
    )
    from gridveil.privacy.quantities.base import ProtectedQuantity as ProtectedQuantity
    from gridveil.privacy.quantities.log_laplace import LogLaplace as LogLaplace
    from gridveil.privacy.quantities.phase import NoisyQuantities as NoisyQuantities
    from gridveil.privacy.quantities.phase import privatise_quantities as privatise_quantities
    from gridveil.privacy.quantities.phase import simulate_quantities as simulate_quantities
    from gridveil.privacy.quantities.registry import QUANTITIES as QUANTITIES
    from gridveil.privacy.quantities.registry import protect as protect
    from gridveil.privacy.ratings import PublicRatings as PublicRatings
    from gridveil.privacy.ratings import read_ratings as read_ratings
    from gridveil.publication import ledger as ledger
    from gridveil.publication.costs import PublicCosts as PublicCosts
    from gridveil.publication.dispatch import PublicDispatch as PublicDispatch
    from gridveil.publication.export import export_release as export_release
    from gridveil.publication.forecast.forecast import Forecast as Forecast
    from gridveil.publication.forecast.outlook import Outlook as Outlook
    from gridveil.publication.make import Release as Release
    from gridveil.publication.plan import (
        ReleasePlan as ReleasePlan,
    )
    from gridveil.publication.plan import (
        plan_release as plan_release,
    )
    from gridveil.publication.plan import (
        release as release,
    )
    from gridveil.publication.planning import plan as plan
    from gridveil.publication.series.export.export import export_series as export_series
    from gridveil.publication.series.make import SeriesRelease as SeriesRelease
    from gridveil.publication.series.plan import (
        SeriesPlan as SeriesPlan,
    )
    from gridveil.publication.series.plan import (
        plan_series_release as plan_series_release,
    )
    from gridveil.publication.series.plan import (
        release_series as release_series,
    )
    from gridveil.publication.verification.verify import (
        Verification as Verification,
    )
    from gridveil.publication.verification.verify import (
        verify as verify,
    )

__version__ = "0.3.0"

_MODULES = {
    "admm.options": ["AgentOptions"],
    "admm.policy": ["Policy"],
    "claims": ["Claim"],
    "errors": ["GridveilError"],
    "experiments.dataset.make": ["dataset"],
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
    "fidelity.load_limits": ["LoadLimits"],
    "fidelity.phase": ["restore", "restore_many"],
    "fidelity.quantities": ["RestoredQuantities", "restore_quantities"],
    "fidelity.quantities_bilevel": ["RestoredOptimum", "restore_optimum"],
    "fidelity.registry": ["METHODS"],
    "fidelity.result": ["Restored"],
    "fidelity.series.restore": ["restore_series"],
    "fidelity.series.result": ["RestoredSeries"],
    "network.formats.base": ["CaseFormat"],
    "network.formats.registry": ["FORMATS"],
    "network.library": ["as_network", "cases", "list_cases", "load_case", "save_case"],
    "network.marginal_costs": ["with_marginal_costs"],
    "network.network": ["Network"],
    "network.problems": ["CaseError"],
    "network.series.load_series": ["LoadSeries"],
    "network.series.reading": ["load_series"],
    "network.series.shapes": ["example_series"],
    "network.series.writing": ["profiles", "save_series"],
    "opf.acopf": ["OPFResult", "solve", "solve_acopf"],
    "opf.cost_gradients": ["CostGradients", "cost_gradients"],
    "opf.multi_hour": ["solve_multi_hour"],
    "opf.pandapower": ["ConversionWarning", "from_pandapower", "to_pandapower"],
    "opf.solvers": ["Solver", "using"],
    "opf.status": ["Status"],
    "privacy": ["budget"],
    "privacy.audit": ["AuditResult", "audit"],
    "privacy.bounds": ["PublicBounds", "read_bounds"],
    "privacy.guarantee": ["Guarantee"],
    "privacy.hide": ["Hide"],
    "publication": ["ledger"],
    "privacy.ledger.ledger": ["Ledger"],
    "privacy.ledger.records": ["BudgetExceededError"],
    "privacy.mechanisms.base": ["Mechanism", "MechanismSettings", "StatedProtection"],
    "privacy.mechanisms.clamp": ["Clamped"],
    "privacy.mechanisms.piecewise": ["Piecewise"],
    "privacy.mechanisms.polar_laplace": ["PolarLaplace"],
    "privacy.mechanisms.product_laplace": ["ProductLaplace"],
    "privacy.mechanisms.registry": ["MECHANISMS", "make_mechanism"],
    "privacy.mechanisms.relative_laplace": ["RelativeLaplace"],
    "privacy.mechanisms.rated_laplace": ["RatedLaplace"],
    "privacy.quantities.base": ["ProtectedQuantity"],
    "privacy.quantities.log_laplace": ["LogLaplace"],
    "privacy.quantities.phase": [
        "NoisyQuantities",
        "privatise_quantities",
        "simulate_quantities",
    ],
    "privacy.quantities.registry": ["QUANTITIES", "protect"],
    "privacy.ratings": ["PublicRatings", "read_ratings"],
    "privacy.phase": ["NoisyLoads", "privatise", "simulate_loads"],
    "publication.costs": ["PublicCosts"],
    "publication.dispatch": ["PublicDispatch"],
    "publication.export": ["export_release"],
    "publication.forecast.forecast": ["Forecast"],
    "publication.forecast.outlook": ["Outlook"],
    "publication.make": ["Release"],
    "publication.plan": ["ReleasePlan", "plan_release", "release"],
    "publication.planning": ["plan"],
    "publication.series.export.export": ["export_series"],
    "publication.series.make": ["SeriesRelease"],
    "publication.series.plan": ["SeriesPlan", "plan_series_release", "release_series"],
    "publication.verification.verify": ["Verification", "verify"],
}
"""Where each public name lives; a module is imported when one of its names is first used."""
_SUBMODULES = {
    "budget": "privacy.budget",
    "ledger": "publication.ledger",
    "certs": "federation.transport.certs",
}
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
