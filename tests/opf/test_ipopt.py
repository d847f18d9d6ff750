"""The binding to Ipopt, on a problem with a published solution."""

import signal

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.interruption import stop_on_interrupt
from gridveil.opf import ipopt


class Hock71:
    """Problem 71 of Hock and Schittkowski, whose solution is in their book and Ipopt's manual."""

    x_min, x_max = np.ones(4), np.full(4, 5.0)
    g_min, g_max = np.array([25.0, 40.0]), np.array([np.inf, 40.0])

    def objective(self, x):
        return x[0] * x[3] * x[:3].sum() + x[2]

    def gradient(self, x):
        return np.array(
            [x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * x[:3].sum()]
        )

    def constraints(self, x):
        return np.array([x.prod(), x @ x])

    def jacobian_structure(self):
        return np.repeat([0, 1], 4), np.tile(np.arange(4), 2)

    def jacobian(self, x):
        return np.concatenate([x.prod() / x, 2 * x])

    def hessian_structure(self):
        return np.tril_indices(4)

    def hessian(self, x, factor, multipliers):
        a, b, c, d = x
        f = np.array([[2 * d, 0, 0, 0], [d, 0, 0, 0], [d, 0, 0, 0], [2 * a + b + c, a, a, 0]])
        g = np.array(
            [[0, 0, 0, 0], [c * d, 0, 0, 0], [b * d, a * d, 0, 0], [b * c, a * c, a * b, 0]]
        )
        return (factor * f + multipliers[0] * g + multipliers[1] * 2 * np.eye(4))[
            np.tril_indices(4)
        ]


START = np.array([1.0, 5.0, 5.0, 1.0])


def test_the_published_solution_is_found():
    solution = ipopt.minimise(Hock71(), START)
    assert solution.converged
    assert solution.objective == pytest.approx(17.0140173, abs=1e-6)
    assert solution.x == pytest.approx([1.0, 4.7429994, 3.8211503, 1.3794082], abs=1e-6)
    assert solution.g_multipliers == pytest.approx([-0.5522937, 0.1614686], abs=1e-6)


def test_iterations_can_be_watched_and_stopped():
    seen = []

    def watch(iteration):
        seen.append(iteration.number)
        return iteration.number < 3

    solution = ipopt.minimise(Hock71(), START, watch=watch)
    assert seen == [0, 1, 2, 3]
    assert not solution.converged


@pytest.mark.parametrize("method", ["objective", "gradient", "constraints", "jacobian", "hessian"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_in_a_callback_comes_out(monkeypatch, method, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(Hock71, method, fail)
    with pytest.raises(error):
        ipopt.minimise(Hock71(), START)


def interrupting(monkeypatch, method, at):
    """Let SIGINT arrive during a call of a callback, in the middle of Ipopt's frames."""
    original, calls = getattr(Hock71, method), []

    def work(*arguments):
        calls.append(method)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    monkeypatch.setattr(Hock71, method, work)
    return calls


@pytest.mark.parametrize("method", ["objective", "gradient", "constraints", "jacobian", "hessian"])
def test_ctrl_c_stops_it_after_the_iteration(monkeypatch, method):
    calls = interrupting(monkeypatch, method, at=3)
    with pytest.raises(KeyboardInterrupt):
        ipopt.minimise(Hock71(), START)
    assert len(calls) < 6


def test_where_a_run_is_to_stop_by_itself_ctrl_c_ends_the_solve_without_a_solution(monkeypatch):
    interrupting(monkeypatch, "hessian", at=3)
    with stop_on_interrupt() as stop:
        solution = ipopt.minimise(Hock71(), START)
    assert stop.is_set()
    assert not solution.converged
    assert solution.iterations < 6


def test_an_unknown_option_is_refused_by_name():
    with pytest.raises(GridveilError, match="does not accept the option colour = 'blue'"):
        ipopt.minimise(Hock71(), START, {"colour": "blue", "print_level": 0, "sb": "yes"})
