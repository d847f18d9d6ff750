"""`release`: from a network to everything that is published of it.

Three steps, of which only the first sees the raw loads: public costs and private loads; then, on a
network whose loads are blank, the fidelity phase; then certificate and report. The same release id
gives the same bytes again.
"""

import hashlib
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.device import Device
from gridveil.admm.history import History
from gridveil.admm.options import AgentOptions
from gridveil.errors import GridveilError
from gridveil.fidelity.phase import check_choices, check_settings, restore
from gridveil.fidelity.registry import BandKind, Method, chosen
from gridveil.fidelity.result import Restored, relative_gap, worst_gap
from gridveil.files import csv_bytes
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, violations
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger import Entry, Ledger
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.phase import NoisyLoads, Origin, owner_of, privatise, spending
from gridveil.privacy.total import NoisyTotal, privatise_total, total_id
from gridveil.publication.case_file import PublishedCase, blank, publish
from gridveil.publication.certificate import (
    Certificate,
    Costs,
    Fidelity,
    Invariant,
    Protection,
    Violations,
)
from gridveil.publication.costs import Provenance, PublicCosts, bought_costs, derived_costs
from gridveil.publication.folder import (
    CERTIFICATE,
    LOADS,
    NETWORK,
    REPORT,
    SIGNATURE,
    write_folder,
)
from gridveil.publication.report.page import report_page
from gridveil.publication.signing import sign

LOADS_HEADER = ("bus", "p_mw", "q_mvar")
_ROUNDING = 1e-6
_PACKAGES = ("casadi", "numba", "numpy", "opendp", "scipy")


@dataclass(frozen=True)
class Release:
    """Everything that is published, as bytes, and what it was made from."""

    certificate: Certificate
    files: Mapping[str, bytes] = field(repr=False)
    noisy: NoisyLoads | None = field(repr=False)
    """None where parties drew it, each for itself."""
    published: PublishedCase = field(repr=False)
    restored: Restored = field(repr=False)
    opf: OPFResult = field(repr=False)

    def save(self, path: Path | str) -> None:
        """Write the release into a new folder, whole or not at all."""
        write_folder(Path(path), self.files)


def release(
    network: Network,
    mechanism: Mechanism,
    beta: float,
    ledger: Ledger,
    release_id: str,
    *,
    costs: PublicCosts | None = None,
    cost_budget: Number | None = None,
    method: Method | str = Method.BILEVEL,
    band: BandKind | str = BandKind.GENERATOR,
    agents: AgentOptions | None = None,
    accept_unsound: bool = False,
    key: Ed25519PrivateKey | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Release:
    """Make a release of a network: draw its private loads, restore them, certify the result.

    The budget is charged when the loads are drawn. Whatever fails afterwards can be tried again
    under the same id, also with another β or method, at no further cost. `agents` says how
    agents run, by default with a central last step (`polish`); `costs` are O*;
    without them they are computed from the raw loads, and the certificate says so; or
    `cost_budget`, an ε on top of the mechanism's, buys a private total load to compute them
    from.
    """
    method, band = chosen(Method, method, "method"), chosen(BandKind, band, "band")
    if method is Method.ADMM and agents is None:
        agents = AgentOptions(polish=True)
    if costs is not None and cost_budget is not None:
        raise GridveilError("costs that are published need not be bought: drop one of the two")
    check_choices(float(beta), method, band, agents)
    if release_id.endswith(total_id("")):
        raise GridveilError(f"release id: {release_id!r} is kept for totals; choose another")
    public, total = costs, None
    if public is None and cost_budget is None:
        tell("public costs")
        public = derived_costs(network)
    if public is not None:
        check_settings(network, public.values, beta, method, band, agents)
    tell("privacy phase")
    if cost_budget is not None and not ledger.knows(release_id):
        _check_both(network, mechanism, cost_budget, ledger)
    noisy = privatise(
        network,
        mechanism,
        ledger,
        release_id,
        accept_unsound=accept_unsound,
        about=_about(public),
    )
    noisy.require_private()
    entry, forgetful = ledger.entry(release_id), blank(network)
    if cost_budget is not None:
        alpha = _distance(mechanism)
        total = privatise_total(network, cost_budget, alpha, ledger, release_id)
        entry = ledger.entry(total_id(release_id))
        tell("public costs")
        public = bought_costs(forgetful, noisy, total)
    assert public is not None
    bounds = mechanism.specification().get("bounds", "")
    basis = Basis(
        release_id, noisy.guarantee, noisy.origin, total, entry, public, float(beta), band, bounds
    )
    tell("fidelity phase")
    restored = restore(forgetful, noisy, public.values, float(beta), method, band, agents)
    history = None if restored.agents is None else restored.agents.history
    made = certified(forgetful, basis, restored, history, key, tell)
    return replace(made, noisy=noisy)


def _about(costs: PublicCosts | None) -> dict[str, str]:
    """Return what a draw stands for beside its noise: costs from raw loads are those of one day.

    Without this, changed loads under an old id would give away new costs, again and again.
    """
    digest = "" if costs is None else costs.derived_digest()
    return {"costs_derived": digest} if digest else {}


def _distance(mechanism: Mechanism) -> float:
    alpha = mechanism.guarantee().distance
    if alpha is None:
        raise GridveilError(
            "costs can be bought with a Laplace mechanism only, which has a distance"
        )
    return alpha


def _check_both(
    network: Network, mechanism: Mechanism, cost_budget: Number, ledger: Ledger
) -> None:
    """Refuse before the first draw what the second could not pay for."""
    guarantee = mechanism.guarantee()
    spent = exact(guarantee.epsilon, "epsilon") + exact(cost_budget, "cost budget")
    if exact(cost_budget, "cost budget") <= 0:
        raise GridveilError(f"cost budget: {cost_budget} must be above 0")
    ledger.check(spending(owner_of(network), spent, _distance(mechanism)))


@dataclass(frozen=True)
class Basis:
    """What a release is made from, once the noise is drawn."""

    release_id: str
    guarantee: Guarantee
    origin: Origin
    total: NoisyTotal | None
    entry: Entry
    costs: PublicCosts
    beta: float
    band: BandKind
    bounds: str
    """Where public bounds were published, if there are any."""


def certified(
    network: Network,
    basis: Basis,
    restored: Restored,
    history: History | None,
    key: Ed25519PrivateKey | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Release:
    """Certify what the fidelity phase came to, as a release of a network without loads.

    `history` is that of the agents, if they solved it.
    """
    costs = basis.costs
    if not restored.status.solved:
        raise GridveilError(
            f"the fidelity phase failed: {restored.status.value}. The private loads are kept "
            f"under release id {basis.release_id!r}: try again with another beta or method, at no "
            "further cost"
        )
    tell("verification")
    p, q = restored.network.loads.values.T
    published = publish(network, p, q, restored.point)
    again = f"; the private loads are kept under release id {basis.release_id!r}"
    broken = violations(published.network, published.point).largest
    if broken > FEASIBILITY_TOLERANCE:
        raise GridveilError(
            f"the network found breaks its limits by {broken:.1e} p.u., and a release by at most "
            f"{FEASIBILITY_TOLERANCE:g}; a central solver can take the last step (polish){again}"
        )
    opf = solve_acopf(published.network)
    if not opf.status.solved:
        raise GridveilError(f"the network found has no AC-OPF: {opf.status.value}{again}")
    fidelity = _fidelity(published, opf, basis, restored)
    if not is_kept(fidelity):
        raise GridveilError(f"the network found does not keep beta = {basis.beta:g}{again}")
    files = {
        NETWORK: published.text.encode("utf-8", "surrogateescape"),
        LOADS: loads_csv(published),
    }
    certificate = Certificate(
        format="gridveil-certificate",
        version=1,
        release_id=basis.release_id,
        network=network.name,
        base_mva=network.base_mva,
        drawn_at=basis.entry.drawn_at,
        software=_software(restored),
        protection=_protection(basis, network),
        invariants=invariants(costs.provenance, costs.source),
        costs=Costs(
            provenance=costs.provenance.value,
            source=costs.source,
            generators=(network.generators.row + 1).tolist(),
            dollars_per_hour=costs.values.tolist(),
        ),
        fidelity=fidelity,
        load_buses=network.load_buses,
        files={},
    )
    tell("report")
    files[REPORT] = report_page(certificate, published, history)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    certificate = certificate.model_copy(update={"files": digests}).sealed()
    files[CERTIFICATE] = certificate.to_bytes()
    if key is not None:
        files[SIGNATURE] = sign(key, files[CERTIFICATE])
    return Release(certificate, files, None, published, restored, opf)


def loads_csv(published: PublishedCase) -> bytes:
    """Return the released loads as a table, in MW and MVAr, with the numbers of the case file."""
    bus, rows = published.network.case.tables["bus"], published.network.loads.row
    number, p, q = (bus.column(name)[rows].tolist() for name in ("bus_i", "Pd", "Qd"))
    return csv_bytes(LOADS_HEADER, zip(map(int, number), p, q, strict=True))


def _protection(basis: Basis, network: Network) -> Protection:
    entry, base = basis.entry, network.base_mva
    for_costs = 0.0 if basis.total is None else basis.total.epsilon
    total = exact(basis.guarantee.epsilon, "epsilon") + exact(for_costs, "cost budget")
    promise = replace(basis.guarantee, epsilon=float(total))
    bought = basis.costs.provenance is Provenance.BOUGHT
    figures = {
        "promise": promise.sentence(base),
        "unit": promise.unit,
        "mechanism": promise.mechanism,
        "epsilon": promise.epsilon,
        "epsilon_costs": for_costs,
        "delta": promise.delta,
        "alpha_pu": promise.distance,
        "alpha_mva": None if promise.distance is None else promise.distance * base,
        "metric": promise.metric,
        "grid_step_pu": promise.step,
        "noise_scale_pu": promise.scale,
        "caution": promise.caution,
        "cumulative_epsilon": float(entry.cumulative),
        "cumulative_distance_mva": None if entry.distance is None else float(entry.distance),
        "entropy": basis.origin.value,
        "loads": len(network.loads),
        "bounds": basis.bounds,
        "not_covered": [
            text.replace(", the costs O*", "") if bought else text for text in promise.not_covered
        ],
    }
    return Protection.model_validate(figures)


def invariants(provenance: str, source: str) -> list[Invariant]:
    """Return what a release keeps, and where it comes from."""
    return [
        Invariant(
            what="which buses have a load",
            provenance="public by declaration: the list of load buses",
        ),
        Invariant(
            what="topology, impedances, limits, costs, comments and all else in the case file",
            provenance="public by declaration: the source file, but for its loads and its solution",
        ),
        Invariant(
            what="the generators' costs O*, within beta",
            provenance=f"published: {source}" if provenance == Provenance.PUBLISHED else source,
        ),
    ]


def _fidelity(
    published: PublishedCase,
    opf: OPFResult,
    basis: Basis,
    restored: Restored,
) -> Fidelity:
    costs = basis.costs
    broken = violations(published.network, published.point)
    dispatch = published.network.generators.costs(published.point.p)
    target = float(costs.values.sum())
    figures = {
        "method": restored.method.value,
        "band": basis.band.value,
        "status": restored.status.name.lower(),
        "beta": basis.beta,
        "cost_target": target,
        "cost_dispatch": float(dispatch.sum()),
        "cost_gap_dispatch": relative_gap(float(dispatch.sum()), target),
        "worst_generator_gap": worst_gap(dispatch, costs.values),
        "cost_optimal": opf.cost,
        "cost_gap_optimal": relative_gap(opf.cost, target),
        "max_violation": broken.largest,
        "violations": Violations(**{name: float(value) for name, value in vars(broken).items()}),
    }
    return Fidelity.model_validate(figures)


def is_kept(fidelity: Fidelity) -> bool:
    """Whether costs are as near to O* as the method promises."""
    return cost_gap(fidelity) <= fidelity.beta + _ROUNDING


def cost_gap(fidelity: Fidelity) -> float:
    """Return the gap that the method keeps within β."""
    if fidelity.method == "bilevel":
        return abs(fidelity.cost_gap_optimal)
    if fidelity.band == "total":
        return abs(fidelity.cost_gap_dispatch)
    return fidelity.worst_generator_gap


def _software(restored: Restored) -> dict[str, str]:
    """Return what the bytes of a release depend on; with agents on a GPU, its compiler too."""
    on_gpu = restored.agents is not None and restored.agents.device is Device.CUDA
    packages = (*_PACKAGES, "numba-cuda") if on_gpu else _PACKAGES
    return {
        "gridveil": version("gridveil"),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
