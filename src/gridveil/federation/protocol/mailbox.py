"""A member's letters: sent, kept for those who lost them, waited for, and refused if wrong.

The transport reconnects by itself after a crash but replays nothing. So every message has an
iteration; the last two iterations' messages are kept; whoever waits in vain sends its own again;
and whoever gets a message it has had knows that the sender is behind, and sends its own again too.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.protocol.messages import (
    Kind,
    Message,
    RefusedError,
    decode,
    encode,
    run_digest,
    text_values,
    values_text,
)
from gridveil.federation.transport.channel import Channel

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
"""How long to wait in vain before sending again, in seconds; twice as long each time."""
_BETWEEN_REPEATS = 0.1
"""A member that is behind gets things again at most so often."""
_STANDSTILL = 3.0
"""How many times the patience a member may be heard but not get on: who it waits for would have
been given up long before."""
_COMPLAINTS = 3
"""How often a member is complained about for the same reason."""


@dataclass
class Counts:
    """What went over the channel."""

    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    repeated: int = 0
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many messages were refused, by sender and reason."""


class Correspondence:
    """The letters of one member in one run."""

    def __init__(
        self,
        channel: Channel,
        run_id: str,
        sizes: Mapping[tuple[str, Kind], int],
        patience: float,
        tell: Callable[[str], None],
        ahead: int = 1,
    ) -> None:
        """`sizes` says which kinds may come from whom, with how many numbers; −1 for any.

        Others may be so many iterations `ahead`.
        """
        self.counts = Counts()
        self.clock = 0
        """The iteration that is running: earlier messages are old, much later ones wrong."""
        self._channel, self._run, self._sizes = channel, run_digest(run_id), sizes
        self._patience, self._tell, self._ahead = patience, tell, ahead
        # Often enough that nobody who still runs is taken for lost.
        self._longest_pause = min(_LONGEST_PAUSE, patience / 10)
        self._waiting: set[str] = set()
        self._inbox: dict[tuple[Kind, int, str], FloatArray] = {}
        self._outbox: dict[tuple[Kind, int, str], bytes] = {}
        self._heard: dict[str, float] = {}
        self._repeated: dict[str, float] = {}

    def post(self, kind: Kind, iteration: int, to: str, values: FloatArray) -> None:
        """Send a message and keep it for a while."""
        data = encode(self._run, kind, iteration, values)
        self._outbox[kind, iteration, to] = data
        self._send(to, data)

    def keep(self, kind: Kind, iteration: int, to: str, values: FloatArray) -> None:
        """Keep a message as if it had been sent, for after a restart."""
        self._outbox[kind, iteration, to] = encode(self._run, kind, iteration, values)

    def advance(self, clock: int) -> None:
        """Go on to an iteration, and forget all before the last: nobody can need it any more."""
        last, self.clock = self.clock, clock
        for box in (self._inbox, self._outbox):
            old = [key for key in box if key[1] < last and key[0] is not Kind.HELLO]
            for key in old:
                del box[key]

    def collect(
        self,
        kind: Kind,
        iteration: int,
        senders: Collection[str],
        patience: float | None = None,
    ) -> dict[str, FloatArray]:
        """Wait for a message from each sender, with other `patience` than usual if need be."""
        patience = patience or self._patience
        began = progress = time.monotonic()
        pause = min(_FIRST_PAUSE, self._longest_pause)
        waiting = {sender for sender in senders if (kind, iteration, sender) not in self._inbox}
        self._waiting = waiting
        for sender in waiting:
            self._heard[sender] = max(self._heard.get(sender, 0.0), progress)
        while waiting:
            arrived = self._receive(pause)
            now = time.monotonic()
            if arrived is not None and arrived[:2] == (kind, iteration):
                waiting.discard(arrived[2])
                progress, pause = now, min(_FIRST_PAUSE, self._longest_pause)
            elif now - progress > pause:
                for sender in sorted(waiting):
                    self._repeat(sender)
                    self._refuse_silence(sender, now, patience)
                if now - began > _STANDSTILL * patience:
                    raise GridveilError(
                        f"heard of, but no further for {now - began:.0f} seconds: "
                        f"{_listed(waiting)}"
                    )
                progress, pause = now, min(2 * pause, self._longest_pause)
        return {sender: self._inbox[kind, iteration, sender] for sender in senders}

    def attend(self, seconds: float) -> None:
        """Answer whatever comes, for some time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._receive(left)

    def stop_all(self, others: Collection[str], reason: str) -> None:
        """Tell others that this run cannot go on."""
        for other in others:
            self._send(other, encode(self._run, Kind.STOP, self.clock, text_values(reason)))

    def _receive(self, timeout: float) -> tuple[Kind, int, str] | None:
        """Take one message in; return which it was if it is new and fits."""
        got = self._channel.receive(timeout)
        if got is None:
            return None
        sender, data = got
        self.counts.received += 1
        self.counts.received_bytes += len(data)
        try:
            message = decode(self._run, data)
            self._check(sender, message)
        except RefusedError as error:
            self._complain(sender, str(error))
            return None
        self._heard[sender] = time.monotonic()
        if message.kind is Kind.STOP:
            awaited = f" while {_listed(self._waiting)} was awaited" if self._waiting else ""
            raise GridveilError(f"{sender} stopped the run{awaited}: {values_text(message.values)}")
        key = message.kind, message.iteration, sender
        if message.iteration < self.clock or key in self._inbox:
            self._repeat(sender)
            return None
        self._inbox[key] = message.values
        return key

    def _check(self, sender: str, message: Message) -> None:
        expected = self._sizes.get((sender, message.kind))
        if message.kind is Kind.STOP:
            return
        if expected is None:
            raise RefusedError(f"of a kind it may not send ({message.kind.name.lower()})")
        if expected not in (-1, len(message.values)):
            raise RefusedError("of the wrong length")
        if message.iteration > self.clock + self._ahead:
            raise RefusedError("from the future")

    def _complain(self, sender: str, reason: str) -> None:
        count = self.counts.refused.get((sender, reason), 0) + 1
        self.counts.refused[sender, reason] = count
        if count <= _COMPLAINTS:
            self._tell(f"a message from {sender} was dropped: {reason}")

    def _repeat(self, to: str) -> None:
        """Send a member again what is kept for it."""
        now = time.monotonic()
        if now - self._repeated.get(to, 0.0) < _BETWEEN_REPEATS:
            return
        self._repeated[to] = now
        for (_, _, receiver), data in list(self._outbox.items()):
            if receiver == to:
                self.counts.repeated += 1
                self._send(to, data)

    def _refuse_silence(self, sender: str, now: float, patience: float) -> None:
        if now - self._heard[sender] <= patience:
            return
        dropped = [reason for (who, reason) in self.counts.refused if who == sender]
        why = "it is not connected"
        if dropped:
            why = f"it sends messages that are no use: {dropped[-1]}"
        elif sender in self._channel.connected():
            why = "it is connected but says nothing, or has no right to"
        raise GridveilError(
            f"no word from {sender} for {patience:.0f} seconds: {why}; start it again, and "
            "then the others, to go on where the run stood"
        )

    def _send(self, to: str, data: bytes) -> None:
        self._channel.send(to, data)
        self.counts.sent += 1
        self.counts.sent_bytes += len(data)


def _listed(members: Collection[str]) -> str:
    return ", ".join(sorted(members))


def digest_values(digest: bytes) -> FloatArray:
    """Return a digest as numbers, a byte each."""
    return np.frombuffer(digest, dtype=np.uint8).astype(float)
