"""Runs a member of a federation from its configuration, from its noise to what it publishes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gridveil.admm.compiled import DISTRIBUTED
from gridveil.admm.distributed import compile_distributed
from gridveil.admm.initial_state import flat_state
from gridveil.admm.layout import build_layout
from gridveil.admm.policy import Policy
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.deployment.config import CoordinatorConfig, Member, PartyConfig
from gridveil.federation.deployment.contribution import (
    Contribution,
    contribution_of,
    read_contribution,
    write_contribution,
)
from gridveil.federation.deployment.outcome import Outcome
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.local_agents import build_local
from gridveil.federation.partition.slices import Slice
from gridveil.federation.protocol.coordinator import Coordinator
from gridveil.federation.protocol.handshake import await_hello, say_hello
from gridveil.federation.protocol.mailbox import Correspondence
from gridveil.federation.protocol.party import Party, finish, greetings, party_letters
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.channel import Channel
from gridveil.federation.transport.recording import RecordingChannel
from gridveil.federation.transport.zenoh import open_zenoh
from gridveil.fidelity.bands import limit_bands
from gridveil.files import write_atomically
from gridveil.network.library import load_case
from gridveil.privacy.ledger import Entry, Ledger
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.registry import MECHANISMS, make_mechanism
from gridveil.privacy.phase import LoadOwner, privatise_loads

Tell = Callable[[str], None]


def run_party(
    config: PartyConfig, part: Slice, tell: Tell, progress: Callable[[int, Party], None]
) -> Contribution:
    """Draw a party's noise, run its agents, publish what they come to.

    Nothing is drawn before everybody is there and agrees on the run. A party that is started again
    goes on where it was, with the noise it had.
    """
    run = config.run
    _check(config, part)
    local, mechanism = build_local(part, run.beta), _mechanism(run)
    warm_up(tell)
    with _channel(config, config.name) as channel:
        letters = party_letters(local, run, channel, tell)
        digests = greetings(local, run)
        if config.released.exists():
            return _say_again(config, part, letters, tell)
        try:
            say_hello(letters, digests)
            if not config.state.exists():
                await_hello(letters, config.name, digests)
            noisy, entry = _noise(part, run, mechanism, config)
        except GridveilError as error:
            letters.stop_all(digests, str(error))
            raise
        shown: list[Party] = []
        party = Party(
            config.name, local, noisy, run, letters, config.state, lambda t: progress(t, shown[0])
        )
        shown.append(party)
        found = party.run()
        contribution = contribution_of(part, run, found, mechanism.guarantee(), entry)
        write_contribution(contribution, config.released)
        _finish(letters, tell)
    return contribution


def run_coordinator(
    config: CoordinatorConfig, tell: Tell, progress: Callable[[int, float, float], None]
) -> Outcome:
    """Coordinate a run; return how it went, which also goes to a file."""
    _check_folders(config.state, config.outcome, config.record)
    warm_up(tell)
    with _channel(config, COORDINATOR) as channel:
        coordinator = Coordinator(config.run, channel, config.state, tell, progress)
        verdict = coordinator.run()
        assert verdict.stop is not None
        residuals = coordinator.history(verdict.stop)
        outcome = Outcome(
            status=verdict.status.name,
            iterations=verdict.stop,
            primal=tuple(residuals[:, 0].tolist()),
            dual=tuple(residuals[:, 1].tolist()),
        )
        write_atomically(config.outcome, outcome.model_dump_json().encode())
        try:
            coordinator.finish()
        except GridveilError as error:
            tell(f"the run has ended, but not everybody said that it knows: {error}")
    return outcome


def warm_up(tell: Tell) -> None:
    """Compile what members need, or take it from the cache; say so if it takes a while."""
    if not DISTRIBUTED.is_ready:
        tell("compiling the agents, once for this version: about 20 seconds …")
    network = load_case("case3_lmbd")  # any: the code is the same for all
    layout = build_layout(network, [band.intervals for band in limit_bands(network.generators)])
    noisy = np.zeros(2 * len(network.loads))
    compile_distributed(layout, noisy, flat_state(layout, noisy, Policy.FAST))


def _check(config: PartyConfig, part: Slice) -> None:
    """Refuse what does not fit together, before anybody waits for this party."""
    if part.party != config.name:
        raise GridveilError(f"the slice is that of {part.party}, not of {config.name}")
    absent = [name for name in part.neighbours if name not in config.peers]
    if absent:
        raise GridveilError(
            f"{config.name} shares a bus with {absent[0]}, whose address is not among the peers"
        )
    stranger = sorted(set(config.peers) - {*part.neighbours, COORDINATOR})
    if stranger:
        raise GridveilError(
            f"{config.name} shares nothing with {stranger[0]}: remove it from the peers"
        )
    if part.costs_derived != config.run.costs_derived:
        raise GridveilError(
            "run.costs_derived is not what the slice has: it stands for the costs O* of one day, "
            f"so that an id is not used for another; set it to {part.costs_derived!r}"
        )
    _check_folders(config.state, config.released, config.record)


def _check_folders(*paths: Path | None) -> None:
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise GridveilError(f"{path}: there is no folder {path.parent}")


def _mechanism(run: Run) -> Mechanism:
    if MECHANISMS.get(run.mechanism).needs_bounds:
        raise GridveilError(
            f"the {run.mechanism} mechanism needs public bounds of every load, which a federation "
            "does not have; choose another"
        )
    return make_mechanism(run.mechanism, run.epsilon, run.alpha)


def _noise(
    part: Slice, run: Run, mechanism: Mechanism, config: PartyConfig
) -> tuple[FloatArray, Entry | None]:
    """Draw the party's noise, or take what its ledger has under this id; p of all loads, then q."""
    if not part.loads:
        return np.zeros(0), None
    name = f"{run.id}/{part.party}"
    buses = [load.bus for load in part.loads]
    owner = LoadOwner(part.network_id, part.network, part.base_mva, buses)
    conditions = {"costs_derived": run.costs_derived} if run.costs_derived else None
    ledger = Ledger(config.ledger)
    noisy = privatise_loads(owner, part.own_loads(), mechanism, ledger, name, conditions=conditions)
    return np.concatenate([noisy.p, noisy.q]), ledger.entry(name)


def _say_again(
    config: PartyConfig, part: Slice, letters: Correspondence, tell: Tell
) -> Contribution:
    """Tell a coordinator that may not know it yet that this party was done."""
    made = read_contribution(config.released)
    mine = part.party, part.network_id, config.run.digest()
    if (made.party, made.network_id, made.run.digest()) != mine:
        raise GridveilError(f"{config.released} is of another party or run; name another file")
    tell(f"{config.released} is there already; nothing was run again")
    letters.advance(config.run.window_end(made.iterations))
    _finish(letters, tell)
    return made


def _finish(letters: Correspondence, tell: Tell) -> None:
    """Tell the coordinator; that it does not answer any more undoes nothing."""
    try:
        finish(letters)
    except GridveilError as error:
        tell(f"the coordinator did not answer, and may have known: {error}")


@contextmanager
def _channel(config: Member, name: str) -> Iterator[Channel]:
    os.environ.setdefault("RUST_LOG", "error")
    channel: Channel = open_zenoh(
        name, config.listen, config.peers, config.identity, config.consortium
    )
    if config.record is not None:
        channel = RecordingChannel(channel, config.record)
    with channel:
        yield channel
