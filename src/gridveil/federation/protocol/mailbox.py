"""A member's mailbox: sends messages, stores and resends them, receives and checks others'.

The channel reconnects after a crash but does not repeat what was lost. So each message carries its
iteration, and those of the last two iterations are stored. A member that waits without result
sends its own again. So does one that receives a message it already has, because its sender is
behind.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.protocol.messages import (
    InvalidMessageError,
    Message,
    MessageKind,
    decode,
    encode,
    run_digest,
    text_values,
    values_text,
)
from gridveil.federation.transport.channel import Channel

ANY_SIZE = -1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
"""Seconds to wait before sending again; doubled each time."""
_PAUSES_PER_PATIENCE = 10
"""A member that runs is heard at least this often while others' patience lasts."""
_RESEND_INTERVAL = 0.1
"""Seconds between two repetitions to the same member."""
_STALL_FACTOR = 3.0
"""A member may send messages without progress for this many times the patience. By then, a member
that it waits for has been given up."""
_LOGGED_REFUSALS = 3
"""Refused messages that are logged, for each sender and reason."""


@dataclass
class Counts:
    """What went over the channel."""

    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    repeated: int = 0
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    """Refused messages, by sender and reason."""


class _Key(NamedTuple):
    kind: MessageKind
    iteration: int
    member: str
    """Who sent it, or is to receive it."""


class Mailbox:
    """The messages of one member in one run."""

    def __init__(
        self,
        channel: Channel,
        run_id: str,
        sizes: Mapping[tuple[str, MessageKind], int],
        patience: float,
        log: Callable[[str], None],
        max_lead: int = 1,
    ) -> None:
        """Open the mailbox of a member.

        Args:
            channel: What carries the messages.
            run_id: Messages of other runs are refused.
            sizes: Which kinds each sender may send, and how many numbers these have; `ANY_SIZE` for
                any number.
            patience: Seconds without a message from a member that is waited for.
            log: Gets a line about messages that are refused.
            max_lead: Iterations that others may be ahead.
        """
        self.counts = Counts()
        self.iteration = 0
        """The current iteration: earlier messages are outdated, much later ones wrong."""
        self._channel, self._run, self._sizes = channel, run_digest(run_id), sizes
        self._patience, self._log, self._max_lead = patience, log, max_lead
        self._longest_pause = min(_LONGEST_PAUSE, patience / _PAUSES_PER_PATIENCE)
        self._first_pause = min(_FIRST_PAUSE, self._longest_pause)
        self._awaited: set[str] = set()
        self._inbox: dict[_Key, FloatArray] = {}
        self._outbox: dict[_Key, bytes] = {}
        self._last_heard: dict[str, float] = {}
        self._last_resent: dict[str, float] = {}

    def send(self, kind: MessageKind, iteration: int, to: str, values: FloatArray) -> None:
        """Send a message and store it."""
        self.store(kind, iteration, to, values)
        self._send(to, self._outbox[_Key(kind, iteration, to)])

    def store(self, kind: MessageKind, iteration: int, to: str, values: FloatArray) -> None:
        """Store a message that was sent before a restart, to be sent again if it is needed."""
        self._outbox[_Key(kind, iteration, to)] = encode(self._run, kind, iteration, values)

    def advance(self, iteration: int) -> None:
        """Go on to an iteration; remove messages from before the previous one."""
        previous, self.iteration = self.iteration, iteration
        for box in (self._inbox, self._outbox):
            outdated = [
                key for key in box if key.iteration < previous and key.kind is not MessageKind.HELLO
            ]
            for key in outdated:
                del box[key]

    def receive(
        self,
        kind: MessageKind,
        iteration: int,
        senders: Collection[str],
        patience: float | None = None,
    ) -> dict[str, FloatArray]:
        """Wait for a message from each sender.

        Args:
            kind: Of the messages.
            iteration: Of the messages.
            senders: Members that send one.
            patience: Seconds without a message from one of them, if other than usual.

        Returns:
            The numbers from each sender.

        Raises:
            GridveilError: A sender is silent for too long or makes no progress, or a member stopped
                the run.
        """
        patience = patience or self._patience
        started = quiet_since = time.monotonic()
        pause = self._first_pause
        self._awaited = {
            sender for sender in senders if _Key(kind, iteration, sender) not in self._inbox
        }
        for sender in self._awaited:
            self._last_heard[sender] = max(self._last_heard.get(sender, 0.0), started)
        while self._awaited:
            arrived = self._receive_one(pause)
            now = time.monotonic()
            if arrived is not None and arrived[:2] == (kind, iteration):
                self._awaited.discard(arrived.member)
                quiet_since, pause = now, self._first_pause
            elif now - quiet_since > pause:
                for sender in sorted(self._awaited):
                    self._resend(sender)
                    self._refuse_silence(sender, now, patience)
                self._refuse_stall(now - started, patience)
                quiet_since, pause = now, min(2 * pause, self._longest_pause)
        return {sender: self._inbox[_Key(kind, iteration, sender)] for sender in senders}

    def wait(self, seconds: float) -> None:
        """Go on answering messages for some time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._receive_one(left)

    def stop_all(self, members: Collection[str], reason: str) -> None:
        """Send members a message that this run cannot go on."""
        for member in members:
            self._send(
                member, encode(self._run, MessageKind.STOP, self.iteration, text_values(reason))
            )

    def _receive_one(self, timeout: float) -> _Key | None:
        """Receive one message; return which it was if it is new and valid."""
        received = self._channel.receive(timeout)
        if received is None:
            return None
        sender, data = received
        self.counts.received += 1
        self.counts.received_bytes += len(data)
        try:
            message = decode(self._run, data)
            self._check(sender, message)
        except InvalidMessageError as error:
            self._log_refusal(sender, str(error))
            return None
        self._last_heard[sender] = time.monotonic()
        if message.kind is MessageKind.STOP:
            awaited = f" while waiting for {_listed(self._awaited)}" if self._awaited else ""
            raise GridveilError(f"{sender} stopped the run{awaited}: {values_text(message.values)}")
        key = _Key(message.kind, message.iteration, sender)
        if message.iteration < self.iteration or key in self._inbox:
            self._resend(sender)
            return None
        self._inbox[key] = message.values
        return key

    def _check(self, sender: str, message: Message) -> None:
        """Refuse a message that this sender may not send now."""
        expected = self._sizes.get((sender, message.kind))
        if message.kind is MessageKind.STOP:
            return
        if expected is None:
            raise InvalidMessageError(f"of a kind it may not send ({message.kind.name.lower()})")
        if expected not in (ANY_SIZE, len(message.values)):
            raise InvalidMessageError("of the wrong length")
        if message.iteration > self.iteration + self._max_lead:
            raise InvalidMessageError("from a future iteration")

    def _log_refusal(self, sender: str, reason: str) -> None:
        count = self.counts.refused.get((sender, reason), 0) + 1
        self.counts.refused[sender, reason] = count
        if count <= _LOGGED_REFUSALS:
            self._log(f"a message from {sender} was dropped: {reason}")

    def _resend(self, to: str) -> None:
        """Send a member again the messages that are stored for it."""
        now = time.monotonic()
        if now - self._last_resent.get(to, 0.0) < _RESEND_INTERVAL:
            return
        self._last_resent[to] = now
        for key, data in list(self._outbox.items()):
            if key.member == to:
                self.counts.repeated += 1
                self._send(to, data)

    def _refuse_silence(self, sender: str, now: float, patience: float) -> None:
        """End the run if nothing was heard from a sender for too long."""
        if now - self._last_heard[sender] <= patience:
            return
        dropped = [reason for (member, reason) in self.counts.refused if member == sender]
        why = "it is not connected"
        if dropped:
            why = f"its messages are refused: {dropped[-1]}"
        elif sender in self._channel.connected():
            why = "it is connected but sends nothing, or has no right to"
        raise GridveilError(
            f"no message from {sender} for {patience:.0f} seconds: {why}; start it again, and then "
            "the others, to resume the run"
        )

    def _refuse_stall(self, seconds: float, patience: float) -> None:
        """End the run if the awaited members send messages but not the one that is due."""
        if seconds > _STALL_FACTOR * patience:
            raise GridveilError(f"connected, but no progress for {seconds:.0f} seconds: "
                                f"{_listed(self._awaited)}")  # fmt: skip

    def _send(self, to: str, data: bytes) -> None:
        self._channel.send(to, data)
        self.counts.sent += 1
        self.counts.sent_bytes += len(data)


def _listed(members: Collection[str]) -> str:
    return ", ".join(sorted(members))
