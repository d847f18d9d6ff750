"""Assembles the parties' contributions to a release, as anyone can: all of them are public."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.history import History
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.deployment.contribution import Contribution, read_contribution
from gridveil.federation.deployment.noise import run_mechanism
from gridveil.federation.deployment.outcome import Outcome, read_outcome
from gridveil.federation.partition.ownership import (
    BUS,
    GENERATOR,
    LOAD,
    component_names,
    load_name,
)
from gridveil.federation.protocol.settings import Run
from gridveil.fidelity.agents import Agents
from gridveil.fidelity.bands import cost_bands
from gridveil.fidelity.base import BandKind, FidelityProblem, Found
from gridveil.fidelity.central import Attempt, nearest_loads
from gridveil.fidelity.result import Restored, evaluate
from gridveil.fidelity.weights import metric_weights
from gridveil.network.library import load_case
from gridveil.network.network import Network
from gridveil.opf.devices import cpu_steps_in
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.record import recorded_solves
from gridveil.opf.status import Status
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger.owner import network_id
from gridveil.privacy.ledger.records import Entry, Seal
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import Origin
from gridveil.publication.case_file import blank
from gridveil.publication.certificate import Certificate
from gridveil.publication.costs import PublicCosts
from gridveil.publication.make import Basis, Release, certify, draft
from gridveil.publication.signing import read_private_key
from gridveil.publication.statements import derived_source, private_source
from gridveil.publication.targets import Provenance


def assemble(
    network: Network | str | Path,
    contributions: Sequence[Contribution | str | Path],
    *,
    outcome: Outcome | str | Path | None = None,
    costs_source: str = "",
    key: Ed25519PrivateKey | str | Path | None = None,
) -> Release:
    """Assemble what all parties released to one release, as anyone can: all of it is public.

    Args:
        network: The network, its name or its file; its loads are not used.
        contributions: What each party released, or the files.
        outcome: The coordinator's outcome, or its file: the residuals for the report.
        costs_source: Where O* was published; empty if it was computed from loads.
        key: Sign the certificate with this Ed25519 key, or the PEM file of each.

    Raises:
        GridveilError: The contributions do not belong together, or one is missing.

    Example::

        made = assemble("case39_epri", ["north.released", "south.released"])
        made.save("out")
    """
    read = [
        each if isinstance(each, Contribution) else read_contribution(Path(each))
        for each in contributions
    ]
    if not isinstance(network, Network):
        network = _load_network(network, read)
    provenance = _provenance(read)
    if provenance is not Provenance.PUBLISHED and costs_source:
        raise GridveilError(
            f"costs_source: the costs O* of this run are {provenance.value}, not published"
        )
    if provenance is Provenance.PUBLISHED and not costs_source:
        raise GridveilError("costs_source: say where the costs O* of this run were published")
    if outcome is not None and not isinstance(outcome, Outcome):
        outcome = read_outcome(Path(outcome))
    return assemble_release(
        network,
        read,
        provenance,
        {Provenance.DERIVED: derived_source(), Provenance.PRIVATE: private_source(0.0)}.get(
            provenance, costs_source
        ),
        None if outcome is None else outcome.residuals,
        read_private_key(Path(key)) if isinstance(key, str | Path) else key,
    )


def assemble_release(
    network: Network,
    contributions: Sequence[Contribution],
    provenance: Provenance,
    source: str,
    residuals: FloatArray | None = None,
    key: Ed25519PrivateKey | None = None,
) -> Release:
    """Make a release from all contributions and the provenance of O*.

    A last central step moves the agreed loads to where the network works to 1e-6: by about the
    agents' tolerance, or by more where they did not quite agree. It does not have the noisy loads,
    so that the agreed ones give the weights. `residuals` are the largest primal and dual ones of
    every iteration.
    """
    _check(network, contributions)
    first = contributions[0]
    public = _public_costs(network, contributions, provenance, source).for_beta(
        first.run.beta, network
    )
    with cpu_steps_in():  # whatever a GPU does, what was drawn is not lost
        restored = _restored(network, contributions, public.values)
    basis = Basis(
        release_id=first.run.id,
        guarantee=_guarantee(contributions),
        parameters=run_mechanism(first.run).specification(),
        origin=Origin.EXACT,
        epsilon_costs=0.0,
        entry=_entry(contributions),
        target=public,
        beta=first.run.beta,
        band=BandKind.COST,
        method=Agents,
    )
    with cpu_steps_in():
        return certify(blank(network), basis, restored, _history(residuals), key)


def draft_of_run(network: Network, run: Run, costs: PublicCosts) -> Certificate:
    """Return a draft of a run's certificate, before anything is drawn or charged.

    Raises:
        GridveilError: The release could not be certified.
    """
    mechanism = run_mechanism(run)
    epsilon = Fraction(mechanism.guarantee().epsilon)
    basis = Basis(
        release_id=run.id,
        guarantee=mechanism.guarantee(),
        parameters=mechanism.specification(),
        origin=Origin.EXACT,
        epsilon_costs=0.0,
        entry=Entry("", epsilon, epsilon, None),
        target=costs,
        beta=run.beta,
        band=BandKind.COST,
        method=Agents,
    )
    return draft(network, basis)


def _load_network(name_or_path: str | Path, contributions: Sequence[Contribution]) -> Network:
    """Read the network with a load at every bus for which one is contributed."""
    buses = [bus for each in contributions for bus in each.load_buses]
    try:
        return load_case(name_or_path, buses)
    except GridveilError as error:
        raise GridveilError(f"{error}; is the contribution of a party missing?") from None


def _check(network: Network, contributions: Sequence[Contribution]) -> None:
    """Refuse contributions that do not belong together or are not complete."""
    if not contributions:
        raise GridveilError("no contributions to assemble")
    first = contributions[0]
    for each in contributions:
        if each.network_id != network_id(network):
            raise GridveilError(f"{each.party}: its contribution is to another network")
        if each.run.digest() != first.run.digest():
            raise GridveilError(f"{each.party} and {first.party} took part in different runs")
        if (each.status, each.iterations) != (first.status, first.iterations):
            raise GridveilError(f"{each.party} and {first.party} ended differently")
    contributed = {
        BUS: [str(bus.number) for each in contributions for bus in each.buses],
        LOAD: [load_name(load.bus, load.number) for each in contributions for load in each.loads],
        GENERATOR: [str(gen.number) for each in contributions for gen in each.generators],
    }
    numbers = component_names(network)
    for component, found in contributed.items():
        _check_complete(component, numbers[component], found)


def _check_complete(component: str, expected: Sequence[str], found: Sequence[str]) -> None:
    """Refuse components that no party contributes, two contribute, or the network lacks."""
    repeated = sorted(number for number, count in Counter(found).items() if count > 1)
    if repeated:
        raise GridveilError(f"{component} {repeated[0]}: two parties contribute it")
    missing = sorted(set(expected) - set(found))
    if missing:
        raise GridveilError(f"{component} {missing[0]}: no party contributes it")
    unknown = sorted(set(found) - set(expected))
    if unknown:
        raise GridveilError(f"{component} {unknown[0]}: the network has no such {component}")


def _provenance(contributions: Sequence[Contribution]) -> Provenance:
    """Return where the costs O* of a run come from."""
    if any(each.run.costs_derived for each in contributions):
        return Provenance.DERIVED
    if any(each.run.costs_private for each in contributions):
        return Provenance.PRIVATE
    return Provenance.PUBLISHED


def _public_costs(
    network: Network, contributions: Sequence[Contribution], provenance: Provenance, source: str
) -> PublicCosts:
    costs = {str(gen.number): gen.public_cost for each in contributions for gen in each.generators}
    values = np.array([costs[number] for number in component_names(network)[GENERATOR]])
    return PublicCosts(values, provenance, source)


def _restored(
    network: Network, contributions: Sequence[Contribution], costs: FloatArray
) -> Restored:
    """Return what the parties agreed on after a last central step, evaluated like any result."""
    numbers = component_names(network)
    loads = {
        load_name(load.bus, load.number): load for each in contributions for load in each.loads
    }
    gens = {str(gen.number): gen for each in contributions for gen in each.generators}
    buses = {str(bus.number): bus for each in contributions for bus in each.buses}
    p, q = (
        np.array([getattr(loads[n], c) for n in numbers[LOAD]], dtype=float) for c in ("p", "q")
    )
    point = OperatingPoint(
        *(np.array([getattr(buses[n], c) for n in numbers[BUS]]) for c in ("v", "theta")),
        *(np.array([getattr(gens[n], c) for n in numbers[GENERATOR]]) for c in ("p", "q")),
    )
    first = contributions[0]
    status = Status[first.status]
    if status is Status.FAILED:
        raise GridveilError(f"the agents did not agree: {status.value}")
    bands = cost_bands(network, costs, first.run.beta)
    start = Attempt(status, p, q, point, first.iterations)
    target = np.stack([p, q], axis=1)
    weights = metric_weights(_guarantee(contributions), target)
    with recorded_solves() as record:
        best, solves, _ = nearest_loads(network, target, bands, None, (), start, weights)
    found = Found(best.status, best.p, best.q, best.point, bands, solves, first.iterations)
    problem = FidelityProblem(blank(network), target, costs, first.run.beta, BandKind.COST, weights)
    return evaluate(problem, Agents.name, found, 0.0, record.solvers)


def _guarantee(contributions: Sequence[Contribution]) -> Guarantee:
    """Return the guarantee of every load, which must be the same for all parties."""
    guarantees = [
        {**each.guarantee, "not_covered": tuple(each.guarantee.get("not_covered", ()))}
        for each in contributions
    ]
    if any(guarantee != guarantees[0] for guarantee in guarantees):
        raise GridveilError("the parties' guarantees differ; compare their mechanisms")
    first = guarantees[0]
    try:
        return Guarantee(**{**first, "kind": Metric(first.get("kind", Metric.ABSOLUTE))})
    except (TypeError, ValueError) as error:
        raise GridveilError(f"{contributions[0].party}: its guarantee: {error}") from None


def _entry(contributions: Sequence[Contribution]) -> Entry:
    """Combine the ledgers' entries: the last draw, and the most that any load has spent."""
    charged = [each for each in contributions if each.loads]
    if not charged:
        raise GridveilError("no party contributes a load, so there is nothing to release")
    distances = {(each.distance_mva, each.floor_mva, each.distances_differ) for each in charged}
    if len(distances) > 1:
        raise GridveilError(
            "the parties' ledgers count their budgets at different distances, so there is no "
            "common figure"
        )
    distance, floor, differ = next(iter(distances))
    elsewhere: dict[str, Fraction] = {}
    for each in charged:
        for metric, most_of in each.elsewhere.items():
            elsewhere[metric] = max(elsewhere.get(metric, Fraction(0)), Fraction(most_of))
    most = max(Fraction(each.cumulative) for each in charged)
    return Entry(
        drawn_at=max(each.drawn_at for each in charged),
        charge=Fraction(str(contributions[0].run.epsilon)),
        cumulative=most,
        distance=None if distance is None else Fraction(distance),
        floor=None if floor is None else Fraction(floor),
        distances_differ=differ,
        elsewhere=elsewhere,
        seals=tuple(Seal(**seal.model_dump()) for each in charged for seal in each.ledgers),
    )


def _history(residuals: FloatArray | None) -> History | None:
    if residuals is None:
        return None
    unknown = np.full(len(residuals), np.nan)
    return History(residuals[:, 0], residuals[:, 1], unknown, unknown, unknown)
