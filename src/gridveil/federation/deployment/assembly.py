"""Puts the parties' contributions together to one release, as anybody can: all of it is public."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.history import History
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.deployment.contribution import Contribution
from gridveil.federation.partition.ownership import BUS, GENERATOR, LOAD, numbers
from gridveil.federation.protocol.settings import Run
from gridveil.fidelity.agents import Agents
from gridveil.fidelity.bands import cost_bands
from gridveil.fidelity.base import BandKind, FidelityProblem, Found
from gridveil.fidelity.central import Attempt, nearest_loads
from gridveil.fidelity.result import Restored, evaluate
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.status import Status
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger import Entry, network_id
from gridveil.privacy.mechanisms.registry import make_mechanism
from gridveil.privacy.phase import Origin
from gridveil.publication.case_file import blank
from gridveil.publication.costs import Provenance, PublicCosts
from gridveil.publication.make import Basis, Release, certify


def assemble(
    network: Network,
    contributions: Sequence[Contribution],
    provenance: Provenance,
    source: str,
    residuals: FloatArray | None = None,
    key: Ed25519PrivateKey | None = None,
) -> Release:
    """Make a release from everybody's contributions; of the network, loads play no part.

    A last central step moves the agreed loads to where the network works to 1e-6: by about the
    agents' tolerance, or by more where they had not quite agreed. `residuals` are the largest
    primal and dual ones of every iteration, and `provenance` and `source` say where O* comes from.
    """
    _check(network, contributions)
    agreed = _agreed(network, contributions)
    first = contributions[0]
    basis = Basis(
        release_id=first.run.id,
        guarantee=_guarantee(contributions),
        parameters=_parameters(first.run),
        origin=Origin.EXACT,
        epsilon_costs=0.0,
        entry=_entry(contributions),
        costs=PublicCosts(agreed.costs, provenance, source),
        beta=first.run.beta,
        band=BandKind.GENERATOR,
        method=Agents,
    )
    return certify(blank(network), basis, agreed, _history(residuals), key)


def _check(network: Network, contributions: Sequence[Contribution]) -> None:
    """Refuse contributions that do not belong together, or leave something out."""
    if not contributions:
        raise GridveilError("no contributions to put together")
    first = contributions[0]
    for one in contributions:
        if one.network_id != network_id(network):
            raise GridveilError(f"{one.party}: its contribution is to another network")
        if one.run.digest() != first.run.digest():
            raise GridveilError(f"{one.party} and {first.party} took part in different runs")
        if (one.status, one.iterations) != (first.status, first.iterations):
            raise GridveilError(f"{one.party} and {first.party} ended differently")
    named = numbers(network)
    given = {
        BUS: [bus.number for one in contributions for bus in one.buses],
        LOAD: [load.bus for one in contributions for load in one.loads],
        GENERATOR: [generator.number for one in contributions for generator in one.generators],
    }
    for kind, found in given.items():
        twice = sorted({number for number in found if found.count(number) > 1})
        if twice:
            raise GridveilError(f"{kind} {twice[0]}: two parties contribute it")
        missing = sorted(set(named[kind]) - set(found))
        unknown = sorted(set(found) - set(named[kind]))
        if missing or unknown:
            what = f"{kind} {(missing or unknown)[0]}"
            reason = "nobody contributes it" if missing else "the network has no such"
            raise GridveilError(f"{what}: {reason}")


def _agreed(network: Network, contributions: Sequence[Contribution]) -> Restored:
    """Return what the parties agreed on, after a last central step, judged like any other."""
    named = numbers(network)
    loads = {load.bus: load for one in contributions for load in one.loads}
    gens = {gen.number: gen for one in contributions for gen in one.generators}
    buses = {bus.number: bus for one in contributions for bus in one.buses}
    p, q = (np.array([getattr(loads[n], c) for n in named[LOAD]], dtype=float) for c in ("p", "q"))
    point = OperatingPoint(
        *(np.array([getattr(buses[n], c) for n in named[BUS]]) for c in ("v", "theta")),
        *(np.array([getattr(gens[n], c) for n in named[GENERATOR]]) for c in ("p", "q")),
    )
    costs = np.array([gens[number].public_cost for number in named[GENERATOR]])
    first = contributions[0]
    status = Status[first.status]
    if status is Status.FAILED:
        raise GridveilError(f"the agents did not agree: {status.value}")
    bands = cost_bands(network, costs, first.run.beta)
    start = Attempt(status, p, q, point, first.iterations)
    target = np.stack([p, q], axis=1)
    best, solves, _ = nearest_loads(network, target, bands, None, (), start)
    found = Found(best.status, best.p, best.q, best.point, bands, solves, first.iterations)
    problem = FidelityProblem(blank(network), target, costs, first.run.beta, BandKind.GENERATOR)
    return evaluate(problem, Agents.name, found, 0.0)


def _parameters(run: Run) -> dict[str, str]:
    """Return the parameters of the mechanism that all parties used."""
    return make_mechanism(run.mechanism, run.epsilon, run.alpha).specification()


def _guarantee(contributions: Sequence[Contribution]) -> Guarantee:
    """Return what every load is promised, which must be the same for all."""
    told = [
        {**one.guarantee, "not_covered": tuple(one.guarantee.get("not_covered", ()))}
        for one in contributions
    ]
    if any(guarantee != told[0] for guarantee in told):
        raise GridveilError("the parties promise different things; compare their mechanisms")
    try:
        return Guarantee(**told[0])
    except TypeError as error:
        raise GridveilError(f"{contributions[0].party}: its guarantee: {error}") from None


def _entry(contributions: Sequence[Contribution]) -> Entry:
    """Return what the ledgers say together: the last draw, and the most any load has spent."""
    charged = [one for one in contributions if one.loads]
    if not charged:
        raise GridveilError("nobody contributes a load, so there is nothing to release")
    distances = {one.distance_mva for one in charged}
    if len(distances) > 1:
        raise GridveilError(
            "the parties' ledgers count their budgets at different distances; a common figure "
            "cannot be given"
        )
    distance = next(iter(distances))
    most = max(Fraction(one.cumulative) for one in charged)
    return Entry(
        drawn_at=max(one.drawn_at for one in charged),
        charge=Fraction(str(contributions[0].run.epsilon)),
        cumulative=most,
        distance=None if distance is None else Fraction(distance),
    )


def _history(residuals: FloatArray | None) -> History | None:
    if residuals is None:
        return None
    untold = np.full(len(residuals), np.nan)
    return History(residuals[:, 0], residuals[:, 1], untold, untold, untold)
