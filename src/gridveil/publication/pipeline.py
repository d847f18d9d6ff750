"""`release`: from a network to everything that is published of it.

Three steps, of which only the first sees the raw loads: public costs and private loads; then, on a
network whose loads are blank, the fidelity phase; then certificate and report. The same release id
gives the same bytes again.
"""

import csv
import hashlib
import io
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.options import AgentOptions
from gridveil.errors import GridveilError
from gridveil.fidelity.choices import BandKind, Method, chosen
from gridveil.fidelity.phase import check_settings, restore
from gridveil.fidelity.result import Restored, relative_gap, worst_gap
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, violations
from gridveil.privacy.ledger import Entry, Ledger
from gridveil.privacy.mechanism import Mechanism
from gridveil.privacy.phase import NoisyLoads, privatise
from gridveil.publication.certificate import (
    Certificate,
    Costs,
    Fidelity,
    Invariant,
    Protection,
    Violations,
)
from gridveil.publication.costs import Provenance, PublicCosts, derived_costs
from gridveil.publication.folder import write_folder
from gridveil.publication.published import PublishedCase, blank, publish
from gridveil.publication.signing import sign
from gridveil.report.page import report_page

NETWORK, LOADS, REPORT = "network.m", "loads.csv", "report.html"
CERTIFICATE, SIGNATURE = "certificate.json", "certificate.sig"
_PACKAGES = ("casadi", "numba", "numpy", "opendp", "scipy")


@dataclass(frozen=True)
class Release:
    """Everything that is published, as bytes, and what it was made from."""

    certificate: Certificate
    files: Mapping[str, bytes] = field(repr=False)
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
    method: Method | str = Method.BILEVEL,
    band: BandKind | str = BandKind.GENERATOR,
    agents: AgentOptions | None = None,
    accept_unsound: bool = False,
    key: Ed25519PrivateKey | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Release:
    """Make a release of a network: draw its private loads, restore them, certify the result.

    The budget is charged when the loads are drawn. Whatever fails afterwards can be tried again
    under the same id, also with another β or method, at no further cost. `costs` are O*; without
    them they are computed from the raw loads, and the certificate says so.
    """
    method, band = chosen(Method, method, "method"), chosen(BandKind, band, "band")
    tell("public costs")
    public = derived_costs(network) if costs is None else costs
    check_settings(network, public.values, beta, method, band, agents)
    tell("privacy phase")
    noisy = privatise(network, mechanism, ledger, release_id, accept_unsound=accept_unsound)
    noisy.require_private()
    entry = ledger.entry(release_id)
    return _publish(
        blank(network), noisy, entry, public, beta, method, band, agents, key, release_id, tell
    )


def _publish(
    network: Network,
    noisy: NoisyLoads,
    entry: Entry,
    costs: PublicCosts,
    beta: float,
    method: Method,
    band: BandKind,
    agents: AgentOptions | None,
    key: Ed25519PrivateKey | None,
    release_id: str,
    tell: Callable[[str], None],
) -> Release:
    """Make everything of a release but its noise, from a network without loads."""
    tell("fidelity phase")
    restored = restore(network, noisy, costs.values, beta, method, band, agents)
    if not restored.status.solved:
        raise GridveilError(
            f"the fidelity phase failed: {restored.status.value}. The private loads are kept under "
            f"release id {release_id!r}: try again with another beta or method, at no further cost"
        )
    tell("verification")
    p, q = restored.network.loads.values.T
    published = publish(network, p, q, restored.point)
    opf = solve_acopf(published.network)
    fidelity = _fidelity(published, opf, costs, beta, restored, band)
    if fidelity.max_violation > FEASIBILITY_TOLERANCE:
        raise GridveilError(
            f"the network found breaks its limits by {fidelity.max_violation:.1e} p.u., and a "
            f"release by at most {FEASIBILITY_TOLERANCE:g}; let a central solver take the last "
            "step (--polish)"
        )
    files = {
        NETWORK: published.text.encode("utf-8", "surrogateescape"),
        LOADS: loads_csv(published),
    }
    certificate = Certificate(
        format="gridveil-certificate",
        version=1,
        release_id=release_id,
        network=network.name,
        base_mva=network.base_mva,
        drawn_at=entry.drawn_at,
        software=_software(),
        protection=_protection(noisy, entry, network),
        invariants=_invariants(costs),
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
    history = None if restored.agents is None else restored.agents.history
    files[REPORT] = report_page(certificate, published, history)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    certificate = certificate.model_copy(update={"files": digests}).sealed()
    files[CERTIFICATE] = certificate.to_bytes()
    if key is not None:
        files[SIGNATURE] = sign(key, files[CERTIFICATE])
    return Release(certificate, files, published, restored, opf)


def loads_csv(published: PublishedCase) -> bytes:
    """Return the released loads as a table, in MW and MVAr, with the numbers of the case file."""
    bus = published.network.case.tables["bus"]
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(["bus", "p_mw", "q_mvar"])
    for row in published.network.loads.row:
        cells = (float(bus.column(name)[row]) for name in ("Pd", "Qd"))
        table.writerow([int(bus.column("bus_i")[row]), *map(repr, cells)])
    return buffer.getvalue().encode()


def _protection(noisy: NoisyLoads, entry: Entry, network: Network) -> Protection:
    promise, base = noisy.guarantee, network.base_mva
    return Protection(
        promise=promise.sentence(base),
        unit=promise.unit,
        mechanism=promise.mechanism,
        epsilon=promise.epsilon,
        delta=promise.delta,
        alpha_pu=promise.distance,
        alpha_mva=None if promise.distance is None else promise.distance * base,
        metric=promise.metric,
        grid_step_pu=promise.step,
        noise_scale_pu=promise.scale,
        caution=promise.caution,
        cumulative_epsilon=float(entry.cumulative),
        cumulative_distance_mva=None if entry.distance is None else float(entry.distance),
        entropy=noisy.origin.value,
        loads=len(network.loads),
        not_covered=list(promise.not_covered),
    )


def _invariants(costs: PublicCosts) -> list[Invariant]:
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
            provenance=costs.source
            if costs.provenance is Provenance.DERIVED
            else f"published: {costs.source}",
        ),
    ]


def _fidelity(
    published: PublishedCase,
    opf: OPFResult,
    costs: PublicCosts,
    beta: float,
    restored: Restored,
    band: BandKind,
) -> Fidelity:
    broken = violations(published.network, published.point)
    dispatch = published.network.generators.costs(published.point.p)
    target = float(costs.values.sum())
    return Fidelity(
        method=restored.method.value,
        band=band.value,
        status=restored.status.name.lower(),
        beta=float(beta),
        cost_target=target,
        cost_dispatch=float(dispatch.sum()),
        cost_gap_dispatch=relative_gap(float(dispatch.sum()), target),
        worst_generator_gap=worst_gap(dispatch, costs.values),
        cost_optimal=opf.cost,
        cost_gap_optimal=relative_gap(opf.cost, target),
        max_violation=broken.largest,
        violations=Violations(**{name: float(value) for name, value in vars(broken).items()}),
    )


def _software() -> dict[str, str]:
    return {
        "gridveil": version("gridveil"),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
