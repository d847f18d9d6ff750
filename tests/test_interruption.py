"""Ctrl-C that is held, and Ctrl-C as a request to stop."""

import signal
import threading

import pytest

from gridveil.interruption import held_interrupts, stop_on_interrupt, stops_by_itself


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_held_it_interrupts_when_the_block_has_ended():
    reached = []

    def block():
        with held_interrupts() as held:
            interrupt()
            reached.append(held.is_set())

    with pytest.raises(KeyboardInterrupt):
        block()
    assert reached == [True]


def test_held_it_interrupts_after_an_error_too():
    def block():
        with held_interrupts():
            interrupt()
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        block()


def test_a_request_to_stop_is_noted_and_the_second_interrupts():
    with stop_on_interrupt() as stop:
        assert stops_by_itself()
        interrupt()
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert not stops_by_itself()


def test_what_was_held_inside_a_run_asks_it_to_stop():
    with stop_on_interrupt() as stop:
        with held_interrupts():
            interrupt()
            assert not stop.is_set()
        assert stop.is_set()


@pytest.mark.parametrize("block", [held_interrupts, stop_on_interrupt])
def test_ignored_it_stays_ignored_and_handlers_come_back(block):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with block() as event:
            interrupt()
        assert not event.is_set()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    with block():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("block", [held_interrupts, stop_on_interrupt])
def test_other_threads_leave_it_alone(block):
    before, failures = signal.getsignal(signal.SIGINT), []

    def work():
        try:
            with block():
                assert signal.getsignal(signal.SIGINT) is before
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures
