"""Recorded functions on the CPU: a recording runs its function again wherever a graph would.

What goes in and out of a recording, and from where to where, is the same as on a GPU; that graphs
can be made of the functions is shown by `benchmarks/interior_point_gpu.py` on one.
"""

import sys
import types
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

from gridveil import load_case
from gridveil.opf.acopf import acopf_program
from gridveil.opf.interior_point.backend import Reuse
from gridveil.opf.interior_point.cpu.backend import CPU, LDL
from gridveil.opf.interior_point.cuda import recording
from gridveil.opf.interior_point.cuda.recording import Recorded, at_fixed_place
from gridveil.opf.interior_point.solve import minimise_batch
from gridveil.opf.program import batch_of
from gridveil.opf.solvers import Solver, using
from gridveil.opf.start import starting_point


class There(np.ndarray):
    """An array that is not in memory, as far as recordings can tell."""


@dataclass(frozen=True)
class Graph:
    function: object
    arguments: tuple
    outputs: list

    def launch(self, _):
        inside = []
        recording._taken_apart(self.function(*self.arguments), inside)
        for target, source in zip(self.outputs, [np.array(one) for one in inside], strict=True):
            target[...] = source


def captured(function, arguments, places):
    inside = []
    form = recording._taken_apart(function(*arguments), inside)
    outputs = places or recording._in_main_pool(inside)
    return Graph(function, arguments, outputs), form, outputs


def there(leaf):
    return np.array(leaf).view(There) if type(leaf) is np.ndarray else leaf


def copied(leaf, target, _):
    target[...] = leaf


@pytest.fixture(autouse=True)
def no_gpu_needed(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.__getattr__ = lambda name: getattr(np, name)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for name, stand_in in (
        ("_captured", captured),
        ("_copy", copied),
        ("_there", lambda leaves: [there(leaf) for leaf in leaves]),
        ("_in_main_pool", lambda leaves: [np.full_like(leaf, 7).view(There) for leaf in leaves]),
        ("_is_in_memory", lambda leaf: type(leaf) is np.ndarray),
        ("process_stream", lambda: None),
        ("_COMPILED", set()),
    ):
        monkeypatch.setattr(recording, name, stand_in)


def array(*numbers):
    return np.array(numbers, dtype=float).view(There)


@pytest.mark.parametrize("reuse", [Reuse.NONE, Reuse.OVERWRITTEN])
def test_every_call_gives_what_the_function_gives(reuse):
    recorded = Recorded(lambda x, mu: (x * mu, x - mu), (), reuse)
    same = array(1, 2)
    for k in range(6):
        x = same if k % 2 else array(k, 2 * k)
        product, difference = recorded(x, np.array([3.0, float(k)]))
        assert product.tolist() == [3 * x[0], k * x[1]]
        assert difference.tolist() == [x[0] - 3, x[1] - k]


def test_results_that_stay_do_and_others_stand_at_one_place():
    stays, overwritten = (
        Recorded(lambda x: x + 1, (), reuse) for reuse in (Reuse.NONE, Reuse.OVERWRITTEN)
    )
    for one in (stays, overwritten):
        one(array(0))  # so that it is compiled
    first, second = stays(array(1)), stays(array(2))
    assert (first.tolist(), second.tolist()) == ([2], [3])
    assert overwritten(array(1)) is overwritten(array(2))


def test_arrays_at_fixed_places_are_read_where_they_are():
    make = Recorded(lambda x: x * 2, (), Reuse.OVERWRITTEN)
    use = Recorded(lambda made, y: made + y, (), Reuse.NONE)
    for k in range(5):
        made = make(array(k))
        assert use(made, array(10)).tolist() == [2 * k + 10]
    other = at_fixed_place(array(100))
    assert use(other, array(1)).tolist() == [101]
    other[...] = 200
    assert use(other, array(1)).tolist() == [201]
    assert use(made, array(10)).tolist() == [18]


def test_what_is_carried_goes_on_and_begins_anew_from_another_start():
    start = Recorded(lambda x: x + 0, (), Reuse.OVERWRITTEN)
    advance = Recorded(lambda total, step: total + step, (), Reuse.CARRIED)
    step = at_fixed_place(array(1))
    for first in (5, 5, 5, 8, 8):
        total = start(array(first))
        for _ in range(3):
            total = advance(total, step)
        assert total.tolist() == [first + 3]
        total = start(array(first))
        assert advance(total, step).tolist() == [first + 1]


class Replayed(CPU):
    """The CPU, with functions recorded as on a GPU."""

    def recorded(self, function, *fixed, reuse=Reuse.NONE):
        return Recorded(function, fixed, reuse)

    def session(self):
        return nullcontext()


def test_the_method_takes_the_same_steps_in_the_first_solve_and_in_later_ones(monkeypatch):
    solve = LDL.solve
    place = {}

    def at_one_place(factors, b):
        out = place.setdefault(id(factors), at_fixed_place(np.empty_like(b).view(There)))
        out[...] = solve(factors, b)
        return out

    monkeypatch.setattr(LDL, "solve", at_one_place)
    monkeypatch.setattr(Replayed.placement, "array", there, raising=False)
    network = load_case("case14_ieee")
    builder = acopf_program(network)
    program = builder.build()
    with using(Solver.INTERIOR_POINT):
        start = builder.start(program, starting_point(network))[None]
    batch = batch_of([program])
    plain = minimise_batch(batch, start)
    for _ in range(3):
        found = minimise_batch(batch, start, backend=Replayed())
        assert found.iterations.tolist() == plain.iterations.tolist()
        assert found.effort == plain.effort
        assert found.x.tolist() == plain.x.tolist()
