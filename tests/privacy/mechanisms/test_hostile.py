"""A mechanism of another package is held to the interface, and lets no raw load slip out."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gridveil import (
    GridveilError,
    Ledger,
    ProductLaplace,
    audit,
    plan_release,
    privatise,
    release,
    simulate_loads,
)
from gridveil.privacy.metric import Metric
from tests.cases import TINY

NETWORK = TINY.network()
COUNT = itertools.count()


def mechanism(**body):
    return type("Own", (ProductLaplace,), {"name": "own", **body}).of(1, "0.1")


def promising(**changes):
    return mechanism(guarantee=lambda self: replace(ProductLaplace.guarantee(self), **changes))


def release_of(function):
    return mechanism(release=lambda self, loads: function(loads))


def fails_with_loads(loads):
    raise ValueError(f"cannot work with {loads.tolist()}")


def chained(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_what_a_mechanism_raises_while_it_sees_loads_is_not_passed_on(tmp_path):
    path = tmp_path / "ledger.sqlite"
    says = r"failed: ValueError in line .* nothing was charged"
    with pytest.raises(GridveilError, match=says) as raised:
        release(NETWORK, path, mechanism=release_of(fails_with_loads))
    assert [type(error) for error in chained(raised.value)] == [GridveilError]
    assert "cannot work" not in str(raised.value)
    assert Ledger(path).accounts() == []


def refuses_loads(loads):
    raise GridveilError(f"cannot work with {loads.tolist()}")


@pytest.mark.parametrize("encode", [fails_with_loads, refuses_loads])
def test_what_it_raises_while_it_puts_loads_on_its_grid_is_not_passed_on(tmp_path, encode):
    path, network = tmp_path / "ledger.sqlite", TINY.network()
    own = mechanism(to_grid=lambda self, loads: encode(loads))
    says = r"to_grid\(\) failed: .*Error in line .* nothing was charged"
    for attempt in (
        lambda: release(network, path, mechanism=own),
        lambda: privatise(network, own, Ledger(path), "spring"),
        lambda: audit(own, trials=1000),
    ):
        with pytest.raises(GridveilError, match=says) as raised:
            attempt()
        assert [type(error) for error in chained(raised.value)] == [GridveilError]
        assert "cannot work" not in str(raised.value)
    assert Ledger(path).accounts() == []


@pytest.mark.parametrize(
    ("method", "function", "says"),
    [
        ("to_grid", lambda loads: loads, r"to_grid\(\) must return whole numbers"),
        ("to_grid", lambda loads: np.zeros((1, 2), int), r"to_grid\(\) .* shape of the loads"),
        ("to_grid", lambda loads: loads.astype(int).tolist(), r"to_grid\(\) must return an array"),
        ("to_grid", lambda loads: np.full(loads.shape, 2**60), r"to_grid\(\) .* at most"),
        ("from_grid", fails_with_loads, r"from_grid\(\) failed: ValueError in line"),
        ("from_grid", lambda steps: steps, r"from_grid\(\) must return finite numbers"),
        ("from_grid", lambda steps: steps * math.inf, r"from_grid\(\) must return finite numbers"),
        ("from_grid", lambda steps: steps[:, 0] / 1, r"from_grid\(\) .* shape of the loads"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_grid_of_its_own_is_held_to_the_interface(tmp_path, method, function, says):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    own = mechanism(**{method: lambda self, values: function(values)})
    with pytest.raises(GridveilError, match=says):
        privatise(NETWORK, own, ledger, "spring")
    assert ledger.accounts() == []


@pytest.mark.parametrize(
    "function",
    [
        lambda loads: np.ma.masked_array(loads, mask=True),
        lambda loads: np.asmatrix(loads),
        lambda loads: loads.astype("m8[s]"),
    ],
)
def test_what_no_ledger_can_store_is_not_charged(tmp_path, function):
    path = tmp_path / "ledger.sqlite"
    with pytest.raises(GridveilError, match="nothing was charged"):
        release(NETWORK, path, mechanism=release_of(function))
    assert Ledger(path).accounts() == []


@pytest.mark.parametrize(
    "wrong",
    [
        promising(delta=None),
        promising(epsilon=None),
        promising(epsilon=10**400),
        promising(step=None),
        promising(step=0.5),
        promising(not_covered=None),
        promising(not_covered=(3,)),
        promising(kind="relative"),
        promising(kind=Metric.LOG),
        promising(kind=Metric.RELATIVE),
        promising(kind=Metric.RELATIVE, floor=math.nan),
        promising(kind=Metric.RELATIVE, floor=0.01, distance=None),
        promising(floor=0.01),
        promising(warning=None),
        mechanism(name=property(lambda _: 1 / 0)),
        mechanism(step=property(lambda _: Fraction(1, 7))),
        mechanism(
            specification=lambda self: {
                **ProductLaplace.specification(self),
                "call": str(next(COUNT)),
            }
        ),
        mechanism(
            guarantee=lambda self: replace(
                ProductLaplace.guarantee(self), epsilon=1.0 + next(COUNT) % 2
            )
        ),
    ],
)
def test_contradictions_are_refused_before_anything_is_charged(tmp_path, wrong):
    path = tmp_path / "ledger.sqlite"
    with pytest.raises(GridveilError, match="mechanism"):
        release(NETWORK, path, mechanism=wrong)
    assert not path.exists()


def test_a_plan_does_without_a_simulation_that_fails(tmp_path):
    path = tmp_path / "ledger.sqlite"
    plan = plan_release(NETWORK, mechanism=mechanism(simulate=lambda *_: None), ledger=path)
    assert plan.noise is None
    assert "nothing is drawn" in repr(plan)
    assert math.isclose(float(plan.charge.epsilon), 1)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (fails_with_loads, "failed: ValueError in line"),
        (lambda loads: loads[:, 0], "shape of the loads"),
        (lambda loads: loads * math.nan, "finite numbers"),
        (lambda loads: loads.tolist(), "shape of the loads"),
    ],
)
def test_a_simulation_is_held_to_the_same(function, says):
    own = mechanism(simulate=lambda self, loads, random: function(loads))
    with pytest.raises(GridveilError, match=says) as raised:
        simulate_loads(NETWORK, own, seed=1)
    assert [type(error) for error in chained(raised.value)] == [GridveilError]
    assert "cannot work" not in str(raised.value)
