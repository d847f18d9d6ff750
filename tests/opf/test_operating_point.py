"""Violations are seen, each under its own name and with its own size."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import load_case, solve_acopf
from gridveil.opf.operating_point import violations


@pytest.fixture(scope="module")
def solved():
    return solve_acopf(load_case("case39_epri"))


def broken(solved, **changes):
    point = replace(solved.point, **changes)
    return violations(solved.network, point)


def test_a_solution_has_none(solved):
    assert solved.violations.largest <= 1e-9


def test_limits_are_seen_by_name(solved):
    point, network = solved.point, solved.network
    top = int(np.argmax(point.v))
    v = point.v.copy()
    v[top] = network.buses.v_max[top] + 0.01
    assert broken(solved, v=v).voltage == pytest.approx(0.01)
    p = point.p.copy()
    p[0] = network.generators.p_min[0] - 0.5
    assert broken(solved, p=p).generator_active == pytest.approx(0.5)
    q = point.q.copy()
    q[0] = network.generators.q_max[0] + 0.25
    assert broken(solved, q=q).generator_reactive == pytest.approx(0.25)
    assert broken(solved, theta=point.theta + 0.1).reference_angle == pytest.approx(0.1)


def test_a_missing_megawatt_is_seen_in_the_balance(solved):
    less = solved.point.p.copy()
    less[0] -= 0.01
    assert broken(solved, p=less).active_balance == pytest.approx(0.01, abs=1e-8)
    less = solved.point.q.copy()
    less[0] -= 0.02
    assert broken(solved, q=less).reactive_balance == pytest.approx(0.02, abs=1e-8)


def test_line_limits_are_seen(solved):
    network, lines = solved.network, solved.network.lines
    flow = np.maximum(abs(solved.flow_from), abs(solved.flow_to))
    tight = replace(network, lines=replace(lines, rate=np.where(flow == flow.max(), 1.0, 1e9)))
    assert violations(tight, solved.point).line_rate == pytest.approx(flow.max() - 1.0)
    delta = solved.point.theta[lines.from_bus] - solved.point.theta[lines.to_bus]
    narrow = replace(network, lines=replace(lines, angle_max=delta - 0.03))
    assert violations(narrow, solved.point).line_angle == pytest.approx(0.03)
