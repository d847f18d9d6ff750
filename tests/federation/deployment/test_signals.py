"""SIGTERM ends a block in order, and only while the block runs."""

import os
import signal
import threading

import pytest

from gridveil.federation.deployment.signals import exit_on_sigterm


def run_until_sigterm(closed):
    with exit_on_sigterm():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            closed.append(True)


def test_sigterm_exits_in_order_and_the_handler_is_restored():
    before = signal.getsignal(signal.SIGTERM)
    closed = []
    with pytest.raises(SystemExit) as raised:
        run_until_sigterm(closed)
    assert raised.value.code == 128 + signal.SIGTERM
    assert closed
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_threads_change_nothing():
    before, during = signal.getsignal(signal.SIGTERM), []

    def run():
        with exit_on_sigterm():
            during.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert during == [before]
