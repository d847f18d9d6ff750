"""A federated release on this machine: one process per party, mutual TLS as between machines."""

import hashlib
import tempfile
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.policy import Policy
from gridveil.defaults import BETA, EPSILON, MAX_ITERATIONS, TOLERANCE
from gridveil.errors import GridveilError, document_errors
from gridveil.federation.deployment.assembly import assemble_release, draft_of_run
from gridveil.federation.deployment.local_configs import write_configs
from gridveil.federation.deployment.noise import draw_noisy_loads, run_mechanism
from gridveil.federation.deployment.processes import Watch, run_members
from gridveil.federation.deployment.signals import exit_on_sigterm
from gridveil.federation.partition.ownership import Partition, as_partition
from gridveil.federation.partition.ownership import partition as assign_parties
from gridveil.federation.partition.slices import Slice
from gridveil.federation.partition.splitting import choose_costs, split
from gridveil.federation.protocol.compilation import compile_agents
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.zenoh import require_zenoh
from gridveil.fidelity.weights import metric_weights
from gridveil.network.components import LoadList
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.hide import Hide
from gridveil.privacy.ledger.ledger import Ledger, Place
from gridveil.privacy.ledger.owner import network_id, owner_of, register_choice
from gridveil.privacy.ledger.records import RegisterChoice
from gridveil.privacy.phase import NoisyLoads, Origin
from gridveil.publication.case_file import blank
from gridveil.publication.costs import CostsLike, PublicCosts, derived_costs, private_costs
from gridveil.publication.explained import explained
from gridveil.publication.make import Release
from gridveil.publication.scan.scan import refuse_matches
from gridveil.publication.signing import read_private_key
from gridveil.publication.statements import private_source
from gridveil.publication.target_choice import TargetChoice
from gridveil.publication.targets import Provenance


def federate(
    network: Network | str | Path,
    *,
    parties: int | None = None,
    partition: Partition | str | Path | None = None,
    epsilon: Number = EPSILON,
    hide: Hide | str | None = None,
    floor: Number | None = None,
    alpha: Number | None = None,
    beta: Number = BETA,
    mechanism: str | None = None,
    policy: Policy | str = Policy.FAST,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
    costs: CostsLike | None = None,
    costs_source: str = "",
    declare_public: Collection[str] | str = (),
    release_id: str | None = None,
    ledger: Ledger | str | Path | None = None,
    register: str | None = None,
    new_register: str | None = None,
    accept_matches: Collection[str] = (),
    key: Ed25519PrivateKey | str | Path | None = None,
    log: Callable[[str], None] = lambda _: None,
    watch: Watch = lambda _: None,
) -> Release:
    """Make a federated release on this machine: one process per party, mutual TLS between them.

    It is the same release as with the method "admm", but no process receives another party's loads,
    costs or limits.

    Args:
        network: The network, its name or its file.
        parties: Cut the network into this number of parties,
        partition: or who owns what, or the CSV file that says so.
        epsilon: Privacy budget ε of each load.
        hide: The change of a load that is hidden: "10%" of each load (if nothing is said), or
            "5MVA".
        floor: For hide in per cent: the load in MVA below which it turns into a fixed amount.
        alpha: The same as hide, as the paper says it: a distance α in p.u.
        beta: How far costs may differ from O*, relatively.
        mechanism: Name of the privacy mechanism; one that needs no public bounds.
        policy: How penalties change.
        max_iterations: Of the agents.
        tolerance: Of the agents' residuals, in p.u.
        costs: The costs O* in $/h. By default they are private: this process draws the noise of
            all parties first, each through the ledger, and computes them from the private loads.
            Known ones are an array or a CSV file; "derived" ones are computed from the raw loads.
        costs_source: Where costs in an array or a file were published.
        declare_public: "costs": the owner declares costs public that are derived.
        release_id: Name of the draw; noise is drawn and charged only once for an id. By default it
            is made from the network, the partition and the parameters.
        ledger: The ledger of all parties; GRIDVEIL_LEDGER or a file in your data folder by default.
        register: The register of the ledger that has these loads, where the owner has to say.
        new_register: The name of a new register: these are other loads than any it knows.
        accept_matches: Names of matches of the last scan that are coincidences.
        key: Sign the certificate with this Ed25519 key, or the PEM file of one.
        log: Gets lines about what a user should know.
        watch: Gets the status of all members several times a second.

    Raises:
        GridveilError: Arguments do not fit each other or the network, the budget is not enough, or
            the federation failed.

    Example::

        release = federate("case14_ieee", parties=3, beta=0.1)
        release.save("out")
    """
    require_zenoh()
    if (parties is None) == (partition is None):
        raise GridveilError("give either parties, their number, or partition, a file")
    signing_key = read_private_key(Path(key)) if isinstance(key, str | Path) else key
    choice = choose_costs(as_network(network), costs, costs_source, declare_public)
    network, provenance = choice.network, choice.provenance
    owned = _partition(network, parties, partition)
    public = _costs_so_far(choice)
    name, distance, x0 = noise_choice(mechanism, hide, alpha, floor).resolved(network)
    with document_errors("federate"):
        run = Run(
            id=release_id
            or default_release_id(network, owned, epsilon, distance, name, provenance, x0),
            parties=owned.parties,
            mechanism=name,
            epsilon=str(exact(epsilon, "epsilon")),
            alpha=str(distance),
            floor=None if x0 is None else str(x0),
            beta=float(exact(beta, "beta")),
            policy=Policy(policy),
            max_iterations=max_iterations,
            tolerance=tolerance,
            costs_derived=public.derived_digest,
            costs_private=provenance is Provenance.PRIVATE,
        )
    drafted = draft_of_run(network, run, public)  # refused before any process is started
    slices = split(network, owned, public, declare_public=declare_public)
    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    owner = owner_of(network, register_choice(register, new_register))
    known = RegisterChoice(opened.open_register(owner), is_new=False)
    place = opened.place
    with exit_on_sigterm(), tempfile.TemporaryDirectory(prefix="gridveil-federation-") as name:
        compile_agents(log)
        if provenance is Provenance.PRIVATE:
            log("private costs")
            private = _private_loads(network, slices, run, place, known)
            public = _private_costs(network, private, run)
            slices = split(network, owned, public)
        write_configs(Path(name), slices, run, place, known.name)
        contributions, outcome = run_members(Path(name), slices, watch)
        log("verification and report")
        made = assemble_release(
            network, contributions, public.provenance, public.source, outcome.residuals,
            signing_key,
        )  # fmt: skip
        private = _private_loads(network, slices, run, place, known)
        texts = (drafted.to_bytes(),)
        follows = explained(network, made, private, None, texts, LoadList.none())
        refuse_matches(made.files, network, follows, accept_matches)
        return made


def default_release_id(
    network: Network,
    partition: Partition,
    epsilon: Number,
    alpha: Number,
    mechanism: str,
    provenance: Provenance,
    floor: Fraction | None = None,
) -> str:
    """Return the id of a release without one: the same parties and parameters draw only once."""
    text = (
        f"{network_id(network)} {partition} {exact(epsilon, 'epsilon')} {exact(alpha, 'alpha')} "
        f"{mechanism} {provenance}"
    )
    if floor is not None:
        text += f" {floor}"
    return f"{network.name}-federated-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _costs_so_far(choice: TargetChoice) -> PublicCosts:
    """Return costs that no private load is needed for; zeros in place of private ones."""
    if isinstance(choice.known, PublicCosts):
        return choice.known
    if choice.provenance is Provenance.DERIVED:
        return derived_costs(choice.network)
    nothing = np.zeros(len(choice.network.generators))
    return PublicCosts(nothing, choice.provenance, private_source(0.0))


def _private_costs(network: Network, private: NoisyLoads, run: Run) -> PublicCosts:
    """Return the costs of the private loads, the bias of their noise taken out."""
    loads = np.stack([private.p, private.q], axis=1)
    weights = metric_weights(private.guarantee, loads)
    unbiased = run_mechanism(run).corrected(loads)
    costs, _ = private_costs(blank(network), unbiased, 0, weights)
    return costs.for_beta(run.beta, network)


def _private_loads(
    network: Network, slices: Sequence[Slice], run: Run, ledger: Place, register: RegisterChoice
) -> NoisyLoads:
    """Draw the noise of every party, or take what the ledger has: each is drawn only once."""
    mechanism = run_mechanism(run)
    private: dict[tuple[int, int], list[float]] = {}
    for part in slices:
        draw, _ = draw_noisy_loads(part, run, mechanism, ledger, register)
        private.update(zip(part.load_places, draw.noisy.reshape(2, -1).T.tolist(), strict=True))
    p, q = np.array([private[place] for place in network.listed_loads.places]).T
    return NoisyLoads(p, q, mechanism.guarantee(), Origin.EXACT, run.id)


def _partition(
    network: Network, parties: int | None, partition: Partition | str | Path | None
) -> Partition:
    if partition is not None:
        return as_partition(partition, network)
    return assign_parties(network, parties)
