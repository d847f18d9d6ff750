"""What is wrong is dropped and logged, and the run ends as if it had never come."""

import random
import re
import time

import numpy as np
import pytest

from gridveil.federation.partition.ownership import partition
from gridveil.federation.protocol.messages import (
    InvalidMessageError,
    MessageKind,
    decode,
    encode,
    run_digest,
)
from tests.federation.in_process import QueueChannel, federated, joined, problem, together

RUN = run_digest("test")


class Meddling(QueueChannel):
    """A channel whose owner sends rubbish along with what it should, and things twice."""

    choose = random.Random(7)

    def send(self, to, data):
        for rubbish in self.rubbish(data):
            super().send(to, rubbish)
        super().send(to, data)
        if self.choose.random() < 0.2:
            super().send(to, data)  # once more

    def rubbish(self, data):
        message = decode(RUN, data)
        count, kind, iteration = len(message.values), message.kind, message.iteration
        wrong = np.full(max(count, 1), np.nan)
        yield from self.choose.sample(
            [
                b"",
                b"\x00" * 10,
                self.choose.randbytes(200),
                data[:-3],
                data + b"\x00",
                encode(RUN, kind, iteration, wrong),
                encode(RUN, kind, iteration, np.full(max(count, 1), np.inf)),
                encode(RUN, kind, iteration, np.zeros(count + 1)),
                encode(RUN, kind, iteration + 5, np.zeros(count)),
                encode(RUN, kind, 2**32 - 1, np.zeros(count)),
                encode(run_digest("another run"), kind, iteration, np.zeros(count)),
                encode(RUN, MessageKind.DECISION, iteration, np.zeros(3)),
                encode(RUN, MessageKind.COPIES, iteration, np.zeros(100_000)),
                b"GVF1" + bytes([99]) + data[5:],
            ],
            3,
        )


def both(channel, folder, iterations):
    """Run a network in one process and as three parties over a channel; return what both say."""
    network, costs, noisy, beta = problem("case14_ieee")
    one = together(network, costs, noisy, beta, max_iterations=iterations)
    found, parts, members, logged = federated(
        network, costs, noisy, beta, partition(network, 3), folder, channel,
        max_iterations=iterations,
    )  # fmt: skip
    return one, joined(network, found, parts), members, logged


def test_rubbish_changes_nothing_and_is_told(tmp_path):
    one, values, members, logged = both(Meddling, tmp_path, 60)
    np.testing.assert_array_equal(values["p"], one.p)
    np.testing.assert_array_equal(values["v"], one.point.v)
    reasons = {reason for member in members.values() for _, reason in member.mailbox.counts.refused}
    assert reasons >= {
        "too short",
        "not a message of this protocol",
        "of another run",
        "of the wrong length",
        "with numbers that are not finite",
        "from a future iteration",
    }
    assert any("was dropped: with numbers that are not finite" in text for text in logged)
    # A flood of it does not flood the log.
    assert len(logged) < 4 * 3 * 2 * 12


class Losing(QueueChannel):
    """A channel that loses a message in fifty, as one does that reconnects."""

    choose = random.Random(3)

    def send(self, to, data):
        if self.choose.random() > 0.02:
            super().send(to, data)


def test_lost_messages_are_sent_again(tmp_path):
    one, values, members, _ = both(Losing, tmp_path, 40)
    np.testing.assert_array_equal(values["p"], one.p)
    assert sum(member.mailbox.counts.repeated for member in members.values()) > 0


class Silent(QueueChannel):
    """A channel whose owner, party-2, falls silent."""

    silent = False

    def send(self, to, data):
        self.silent |= self.name == "party-2" and decode(RUN, data).iteration == 25
        if not self.silent:
            super().send(to, data)

    def connected(self):
        return frozenset()


class Stuck(QueueChannel):
    """A channel whose owner, party-2, goes on talking but not on."""

    def send(self, to, data):
        if self.name != "party-2" or decode(RUN, data).iteration < 25:
            super().send(to, data)


def test_who_falls_silent_is_named_by_all_in_time(tmp_path):
    network, costs, noisy, beta = problem("case14_ieee")
    started = time.monotonic()
    found, *_ = federated(
        network, costs, noisy, beta, partition(network, 4), tmp_path, Silent, patience=2.0
    )
    assert time.monotonic() - started < 20
    for name, error in found.items():
        assert isinstance(error, Exception), name
        if name != "party-2":
            assert "no message from party-2 for 2 seconds: it is not connected" in str(error), name


def test_who_stands_still_ends_the_run_too(tmp_path):
    network, costs, noisy, beta = problem("case14_ieee")
    found, _, members, _ = federated(
        network, costs, noisy, beta, partition(network, 4), tmp_path, Stuck, patience=2.0
    )
    assert all(isinstance(error, Exception) for error in found.values())
    texts = {name: str(error) for name, error in found.items()}
    # Who loses patience first is anybody's luck. Those whom party-2 keeps waiting know it.
    assert any("connected, but no progress for" in text for text in texts.values())
    for exchange in members["party-2"].local.exchanges:
        assert re.match(
            r"connected, but no progress for \d+ seconds: party-2$"
            r"|\S+ stopped the run while waiting for party-2: ",
            texts[exchange.neighbour],
        ), texts


def test_other_settings_are_noticed_before_anything_is_run(tmp_path):
    network, costs, noisy, beta = problem("case14_ieee")
    owned = partition(network, 2)

    class Other(QueueChannel):
        """A party whose HELLO has other settings."""

        def send(self, to, data):
            message = decode(RUN, data)
            if self.name == "party-1" and message.kind is MessageKind.HELLO:
                data = encode(RUN, MessageKind.HELLO, 0, message.values + 1)
            super().send(to, data)

    found, *_ = federated(network, costs, noisy, beta, owned, tmp_path, Other)
    assert any("do not agree" in str(error) for error in found.values())
    assert all(isinstance(error, Exception) for error in found.values())


@pytest.mark.parametrize("data", [b"", b"GVF1", b"x" * 28, b"GVF1" + b"\x00" * 40])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(InvalidMessageError):
        decode(RUN, data)
