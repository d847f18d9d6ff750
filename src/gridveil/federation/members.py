"""Runs a member of a federation from its configuration, from its noise to what it publishes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from gridveil.admm.compiled import STEPS
from gridveil.admm.start import flat_state
from gridveil.admm.steps import compile_steps
from gridveil.errors import GridveilError
from gridveil.federation.channel import Channel
from gridveil.federation.config import CoordinatorConfig, Member, PartyConfig
from gridveil.federation.contribution import (
    Contribution,
    contribution_of,
    read_contribution,
    write_contribution,
)
from gridveil.federation.coordinator import Coordinator
from gridveil.federation.local import Local, build_local
from gridveil.federation.names import COORDINATOR
from gridveil.federation.outcome import Outcome
from gridveil.federation.party import Party
from gridveil.federation.recording import RecordingChannel
from gridveil.federation.settings import Run
from gridveil.federation.slices import Slice
from gridveil.federation.zenoh import open_zenoh
from gridveil.files import write_atomically
from gridveil.privacy.choose import MechanismName, make_mechanism
from gridveil.privacy.ledger import Entry, Ledger
from gridveil.privacy.mechanism import Mechanism
from gridveil.privacy.phase import LoadOwner, privatise_loads

Tell = Callable[[str], None]


def run_party(
    config: PartyConfig, part: Slice, tell: Tell, progress: Callable[[int, Party], None]
) -> Contribution:
    """Draw a party's noise, run its agents, publish what they come to.

    A party that is started again goes on where it was, with the noise it had.
    """
    run = config.run
    _check(config, part)
    local = build_local(part, run.beta)
    mechanism = _mechanism(run)
    noisy, entry = _noise(part, run, mechanism, config)
    _compile(local, noisy, run, tell)
    if config.released.exists():
        return _say_again(config, local, noisy, tell)
    with _channel(config, config.name) as channel:
        shown: list[Party] = []
        party = Party(
            config.name,
            local,
            noisy,
            run,
            channel,
            config.state,
            tell,
            lambda t: progress(t, shown[0]),
        )
        shown.append(party)
        found = party.run()
        contribution = contribution_of(part, run, found, mechanism.guarantee(), entry)
        write_contribution(contribution, config.released)
        party.finish()
    return contribution


def run_coordinator(
    config: CoordinatorConfig, tell: Tell, progress: Callable[[int, float, float], None]
) -> Outcome:
    """Coordinate a run; return how it went, which also goes to a file."""
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
    return outcome


def _check(config: PartyConfig, part: Slice) -> None:
    if part.party != config.name:
        raise GridveilError(f"{config.slice} is the slice of {part.party}, not of {config.name}")
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


def _mechanism(run: Run) -> Mechanism:
    if run.mechanism is MechanismName.PIECEWISE:
        raise GridveilError(
            "the piecewise mechanism needs public bounds of every load; a federation takes one of "
            "the Laplace mechanisms"
        )
    return make_mechanism(run.mechanism, run.epsilon, run.alpha)


def _noise(
    part: Slice, run: Run, mechanism: Mechanism, config: PartyConfig
) -> tuple[np.ndarray, Entry | None]:
    """Draw the party's noise, or take what its ledger has under this id; p of all loads, then q."""
    if not part.loads:
        return np.zeros(0), None
    name = f"{run.id}/{part.party}"
    owner = LoadOwner(
        part.network_id, part.network, part.base_mva, [load.bus for load in part.loads]
    )
    about = {"costs_derived": run.costs_derived} if run.costs_derived else None
    ledger = Ledger(config.ledger)
    noisy = privatise_loads(owner, part.own_loads(), mechanism, ledger, name, about=about)
    return np.concatenate([noisy.p, noisy.q]), ledger.entry(name)


def _compile(local: Local, noisy: np.ndarray, run: Run, tell: Tell) -> None:
    if not STEPS.is_ready:
        tell("compiling the agents, once for this version: about 20 seconds …")
    compile_steps(local.layout, noisy, flat_state(local.layout, noisy, run.policy))


def _say_again(config: PartyConfig, local: Local, noisy: np.ndarray, tell: Tell) -> Contribution:
    """Tell a coordinator that may not know it yet that this party was done."""
    contribution = read_contribution(config.released)
    if contribution.run.digest() != config.run.digest():
        raise GridveilError(f"{config.released} is of another run; name another file")
    tell(f"{config.released} is there already; nothing was run again")
    with _channel(config, config.name) as channel:
        party = Party(config.name, local, noisy, config.run, channel, config.state, tell)
        party.letters.advance(config.run.window_end(contribution.iterations))
        try:
            party.finish()
        except GridveilError:
            tell("the coordinator is gone: it knew")
    return contribution


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
