"""Runs one member of a federation from its configuration: a party, or the coordinator."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.federation.deployment.config import (
    STANDARD_INPUT,
    CoordinatorConfig,
    MemberConfig,
    PartyConfig,
    read_config,
)
from gridveil.federation.deployment.contribution import (
    Contribution,
    make_contribution,
    read_contribution,
    write_contribution,
)
from gridveil.federation.deployment.noise import draw_noisy_loads, run_mechanism
from gridveil.federation.deployment.outcome import Outcome
from gridveil.federation.deployment.signals import exit_on_sigterm
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.local_agents import LocalAgents, build_local_agents
from gridveil.federation.partition.slices import Slice, parse_slice, read_slice
from gridveil.federation.protocol.compilation import compile_agents
from gridveil.federation.protocol.coordinator import Coordinator
from gridveil.federation.protocol.handshake import (
    handshake_digests,
    receive_hellos,
    send_hellos,
)
from gridveil.federation.protocol.mailbox import Counts, Mailbox
from gridveil.federation.protocol.party import Party, PartyResult, party_mailbox, report_done
from gridveil.federation.transport.channel import Channel
from gridveil.federation.transport.recording import RecordingChannel
from gridveil.federation.transport.zenoh import open_zenoh, require_zenoh
from gridveil.files import write_atomically
from gridveil.privacy.ledger.records import Entry
from gridveil.privacy.mechanisms.base import Mechanism

Log = Callable[[str], None]
PartyProgress = Callable[[int, Counts], None]


def party(
    config: PartyConfig | str | Path,
    *,
    log: Log = lambda _: None,
    progress: PartyProgress = lambda *_: None,
) -> Contribution:
    """Run one party of a federation: its noise, its agents, its messages.

    No noise is drawn before all members are present and have the same settings. A party that is
    started again after a crash resumes where it was, with the noise it had.

    Args:
        config: The party's configuration, or its TOML file.
        log: Gets lines about what a user should know.
        progress: Gets each iteration and what went over the channel so far.

    Returns:
        What the party publishes; it is also written to the file `released`.

    Raises:
        GridveilError: The configuration, slice or ledger cannot be used, or the run cannot go on.

    Example::

        party("party-1.toml", log=print)
    """
    require_zenoh()
    if not isinstance(config, PartyConfig):
        config = read_config(Path(config), PartyConfig)
    with exit_on_sigterm():
        return _run_party(config, _read_slice(config), log, progress)


def coordinator(
    config: CoordinatorConfig | str | Path,
    *,
    log: Log = lambda _: None,
    progress: Callable[[int, float, float], None] = lambda *_: None,
) -> Outcome:
    """Run the coordinator of a federation. It receives residuals and sums, never a load or a flow.

    Args:
        config: The coordinator's configuration, or its TOML file.
        log: Gets lines about what a user should know.
        progress: Gets iteration, primal and dual residual after each window.

    Returns:
        How the run ended; it is also written to the file `outcome`.

    Raises:
        GridveilError: The configuration cannot be used, or the run cannot go on.

    Example::

        coordinator("coordinator.toml", log=print)
    """
    require_zenoh()
    if not isinstance(config, CoordinatorConfig):
        config = read_config(Path(config), CoordinatorConfig)
    with exit_on_sigterm():
        return _run_coordinator(config, log, progress)


def _run_party(
    config: PartyConfig, party_slice: Slice, log: Log, progress: PartyProgress
) -> Contribution:
    run = config.run
    _check_slice(config, party_slice)
    _check_folders(config.state, config.released, config.record)
    local, mechanism = build_local_agents(party_slice, run.beta), run_mechanism(run)
    compile_agents(log)
    with _channel(config, config.name) as channel:
        mailbox = party_mailbox(local, run, channel, log)
        if config.released.exists():
            return _report_again(config, party_slice, mailbox, log)
        result, entry = _release_loads(config, party_slice, local, mechanism, mailbox, progress)
        contribution = make_contribution(party_slice, run, result, mechanism.guarantee(), entry)
        write_contribution(contribution, config.released)
        _report_done(mailbox, log)
    return contribution


def _release_loads(
    config: PartyConfig,
    party_slice: Slice,
    local: LocalAgents,
    mechanism: Mechanism,
    mailbox: Mailbox,
    progress: PartyProgress,
) -> tuple[PartyResult, Entry | None]:
    """Handshake, noise and iterations of a party."""
    run = config.run
    digests = handshake_digests(local, run)
    try:
        send_hellos(mailbox, digests)
        if not config.state.exists():
            receive_hellos(mailbox, config.name, digests)
        draw, entry = draw_noisy_loads(
            party_slice, run, mechanism, config.ledger, config.register_choice
        )
    except GridveilError as error:
        mailbox.stop_all(digests, str(error))
        raise
    agents = Party(
        config.name,
        local,
        draw,
        run,
        mailbox,
        config.state,
        lambda iteration: progress(iteration, mailbox.counts),
    )
    return agents.run(), entry


def _run_coordinator(
    config: CoordinatorConfig, log: Log, progress: Callable[[int, float, float], None]
) -> Outcome:
    _check_folders(config.state, config.outcome, config.record)
    compile_agents(log)
    with _channel(config, COORDINATOR) as channel:
        running = Coordinator(config.run, channel, config.state, log, progress)
        decision = running.run()
        assert decision.stop is not None
        residuals = running.history(decision.stop)
        outcome = Outcome(
            status=decision.status.name,
            iterations=decision.stop,
            primal=tuple(residuals[:, 0].tolist()),
            dual=tuple(residuals[:, 1].tolist()),
        )
        write_atomically(config.outcome, outcome.model_dump_json().encode())
        try:
            running.finish()
        except GridveilError as error:
            log(f"the run has ended, but not every party confirmed it: {error}")
    return outcome


def _read_slice(config: PartyConfig) -> Slice:
    if config.slice.name == STANDARD_INPUT:
        return parse_slice(sys.stdin.buffer.read(), "standard input")
    return read_slice(config.slice)


def _check_slice(config: PartyConfig, party_slice: Slice) -> None:
    """Refuse a slice that does not fit the configuration, before anyone waits for this party."""
    if party_slice.party != config.name:
        raise GridveilError(f"the slice is that of {party_slice.party}, not of {config.name}")
    absent = [name for name in party_slice.neighbours if name not in config.peers]
    if absent:
        raise GridveilError(
            f"{config.name} shares a bus with {absent[0]}, whose address is not among the peers"
        )
    strangers = sorted(set(config.peers) - {*party_slice.neighbours, COORDINATOR})
    if strangers:
        raise GridveilError(
            f"{config.name} shares nothing with {strangers[0]}: remove it from the peers"
        )
    if party_slice.costs_derived != config.run.costs_derived:
        raise GridveilError(
            "run.costs_derived is not what the slice has. It identifies the costs O* of one day, "
            "so that an id is not used for another; set it to "
            f"{party_slice.costs_derived!r}"
        )


def _check_folders(*paths: Path | None) -> None:
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise GridveilError(f"{path}: there is no folder {path.parent}")


def _report_again(
    config: PartyConfig, party_slice: Slice, mailbox: Mailbox, log: Log
) -> Contribution:
    """Report that this party is done to a coordinator that may not have received it."""
    contribution = read_contribution(config.released)
    expected = party_slice.party, party_slice.network_id, config.run.digest()
    if (contribution.party, contribution.network_id, contribution.run.digest()) != expected:
        raise GridveilError(f"{config.released} is of another party or run; name another file")
    log(f"{config.released} exists already; nothing was run again")
    mailbox.advance(config.run.window_end(contribution.iterations))
    _report_done(mailbox, log)
    return contribution


def _report_done(mailbox: Mailbox, log: Log) -> None:
    """Report to the coordinator; the result stands even if it does not answer any more."""
    try:
        report_done(mailbox)
    except GridveilError as error:
        log(f"the coordinator did not confirm the end of the run: {error}")


@contextmanager
def _channel(config: MemberConfig, name: str) -> Iterator[Channel]:
    os.environ.setdefault("RUST_LOG", "error")
    channel: Channel = open_zenoh(
        name, config.listen, config.peers, config.identity, config.consortium
    )
    if config.record is not None:
        channel = RecordingChannel(channel, config.record)
    with channel:
        yield channel
