"""Handshake: every member is present and has the same settings before any noise is drawn."""

from collections.abc import Mapping

import numpy as np

from gridveil.errors import GridveilError
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.local_agents import LocalAgents
from gridveil.federation.protocol.mailbox import Mailbox
from gridveil.federation.protocol.messages import MessageKind, digest_values
from gridveil.federation.protocol.settings import Run

_START_PATIENCE = 600.0
"""Seconds to wait for members that have not started yet; they may still be compiling."""


def handshake_digests(agents: LocalAgents, run: Run) -> dict[str, bytes]:
    """Return what a party must have in common with each neighbour and with the coordinator."""
    with_neighbours = {
        exchange.neighbour: run.digest() + exchange.digest for exchange in agents.exchanges
    }
    return {**with_neighbours, COORDINATOR: run.digest()}


def send_hellos(mailbox: Mailbox, digests: Mapping[str, bytes]) -> None:
    """Send each member the digest to compare; it is stored for members that start later."""
    for member, digest in digests.items():
        mailbox.send(MessageKind.HELLO, 0, member, digest_values(digest))


def receive_hellos(mailbox: Mailbox, name: str, digests: Mapping[str, bytes]) -> None:
    """Wait until every member is present; refuse one with another digest."""
    hellos = mailbox.receive(MessageKind.HELLO, 0, list(digests), patience=_START_PATIENCE)
    for member, values in hellos.items():
        if not np.array_equal(values, digest_values(digests[member])):
            raise GridveilError(
                f"{name} and {member} do not agree on the run or on the components they share; "
                "compare their settings and slices"
            )
