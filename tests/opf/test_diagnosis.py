"""An infeasible network is told what it is short of, and where."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import Status, load_case, solve_acopf
from gridveil.opf.diagnosis import Lack
from tests.cases import TINY, bus, gen, line


def diagnosed(network):
    result = solve_acopf(network)
    assert result.status is Status.INFEASIBLE
    assert result.diagnosis is not None
    return result.diagnosis


def test_too_little_generation_is_measured():
    """One bus, 120 MW of load, 100 MW of generation: 20 MW are short, at that generator."""
    case = TINY.with_(
        bus=[bus(1, 3, 120.0)], gen=[gen(1, 100.0)], branch=[], gencost=TINY.gencost[:1]
    )
    diagnosis = diagnosed(case.network())
    assert list(diagnosis.lacks) == [Lack.GENERATION]
    assert diagnosis.lacks[Lack.GENERATION] == pytest.approx(0.2, abs=1e-5)
    assert diagnosis.excesses[0].sentence == "generator 1 (bus 1) needs 20 MW above Pmax"


def test_too_much_must_run_generation():
    case = TINY.with_(
        bus=[bus(1, 3, 30.0)], gen=[gen(1, 100.0, p_min=40.0)], branch=[], gencost=TINY.gencost[:1]
    )
    assert list(diagnosed(case.network()).lacks) == [Lack.SURPLUS]


def test_too_little_reactive_power():
    case = TINY.with_(gen=[gen(1, 200.0, q=1.0), gen(7, 100.0, q=1.0)])
    case = case.with_(bus=[bus(1, 3), bus(2, 1, 80.0, 90.0), bus(7, 2, 50.0, 60.0)])
    assert list(diagnosed(case.network()).lacks) == [Lack.REACTIVE]


def test_a_line_too_thin_is_named():
    """A radial 80 MW load behind a 50 MVA line."""
    case = TINY.with_(
        bus=[bus(1, 3), bus(2, 1, 80.0)],
        gen=TINY.gen[:1],
        gencost=TINY.gencost[:1],
        branch=[line(1, 2, rate=50.0)],
    )
    diagnosis = diagnosed(case.network())
    assert list(diagnosis.lacks) == [Lack.LINES]
    assert diagnosis.excesses[0].component == "line 1 (bus 1–2)"
    assert diagnosis.excesses[0].amount == pytest.approx(0.3, abs=0.02)


def test_an_angle_limit_too_narrow_is_named():
    case = TINY.with_(
        bus=[bus(1, 3), bus(2, 1, 80.0)],
        gen=TINY.gen[:1],
        gencost=TINY.gencost[:1],
        branch=[line(1, 2, angle=1.0)],
    )
    diagnosis = diagnosed(case.network())
    assert list(diagnosis.lacks) == [Lack.ANGLES]
    assert "beyond its angle limit" in diagnosis.excesses[0].sentence


@pytest.mark.parametrize("base", [1.0, 100.0])
@pytest.mark.parametrize("x", [1e-3, 0.1])
def test_where_an_angle_limit_is_all_that_is_in_the_way_nothing_else_is_named(base, x):
    """A transformer of 150° whose file gives ±60°, as if it had no vector group."""
    r, x = x / 10 * base / 100, x * base / 100
    case = TINY.with_(
        base_mva=base,
        bus=[bus(1, 3), bus(2, 1, 80.0, 20.0), bus(7, 1, 5.0)],
        gen=TINY.gen[:1],
        gencost=TINY.gencost[:1],
        branch=[line(1, 2, r, x, shift=150.0, angle=60.0), line(2, 7, r, x)],
    )
    diagnosis = diagnosed(case.network())
    assert list(diagnosis.lacks) == [Lack.ANGLES]
    (excess,) = diagnosis.excesses
    assert excess.component == "line 1 (bus 1–2)"
    assert 85 < np.degrees(excess.amount) < 95
    assert str(diagnosis).startswith("held back by angle limits of lines. Worst: line 1 (bus 1–2)")


def test_an_angle_limit_that_binds_is_not_blamed_for_too_little_generation():
    case = TINY.with_(
        bus=[bus(1, 3), bus(2, 1, 300.0)],
        gen=TINY.gen[:1],
        gencost=TINY.gencost[:1],
        branch=[line(1, 2, angle=5.0)],
    )
    assert next(iter(diagnosed(case.network()).lacks)) is Lack.GENERATION


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (lambda n: n.with_loads(3 * n.loads.p, 3 * n.loads.q), Lack.GENERATION),
        (lambda n: n.with_loads(n.loads.p, 5 * n.loads.q), Lack.REACTIVE),
        (lambda n: replace(n, lines=replace(n.lines, rate=n.lines.rate / 4)), Lack.LINES),
        (
            lambda n: replace(n, generators=replace(n.generators, p_min=n.generators.p_max)),
            Lack.SURPLUS,
        ),
    ],
    ids=["generation", "reactive", "lines", "surplus"],
)
@pytest.mark.parametrize("name", ["case39_epri", "case57_ieee", "case118_ieee"])
def test_larger_networks(name, change, first):
    assert next(iter(diagnosed(change(load_case(name))).lacks)) is first


def test_the_excess_is_real():
    """Widening every limit by what the diagnosis asks for makes the network feasible."""
    network = load_case("case39_epri")
    network = network.with_loads(1.2 * network.loads.p, network.loads.q)
    point, gens = diagnosed(network).point, network.generators
    wider = replace(
        network,
        generators=replace(
            gens,
            p_min=np.minimum(gens.p_min, point.p),
            p_max=np.maximum(gens.p_max, point.p + 1e-4),
            q_min=np.minimum(gens.q_min, point.q),
            q_max=np.maximum(gens.q_max, point.q + 1e-4),
        ),
        lines=replace(network.lines, rate=np.full(len(network.lines), np.inf)),
    )
    assert solve_acopf(wider).status.solved
