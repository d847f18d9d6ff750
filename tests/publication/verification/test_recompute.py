"""The verifier's own formulas."""

import numpy as np
import pytest

from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.publication.verification.recompute import recompute
from tests.cases import TINY, line


@pytest.mark.parametrize("shift", [0.0, 30.0, 150.0, -180.0, 330.0, -210.0])
@pytest.mark.parametrize(("beyond", "violation"), [(59.0, 0.0), (61.0, 1.0), (-62.0, 2.0)])
def test_angles_without_limits_may_be_sixty_degrees_from_the_phase_shift(shift, beyond, violation):
    row = [*line(1, 2, shift=shift)[:11], 0.0, 0.0]
    case = TINY.with_(branch=[row, *TINY.branch[1:]])
    turned = shift if abs(shift) <= 180 else shift - 360 * np.sign(shift)
    case = case.with_cell("bus", 1, 8, -(turned + beyond)).with_cell("bus", 2, 8, 0.0)
    case = case.with_(branch=[row, [*line(2, 7)[:11], -350.0, 350.0]])
    found = recompute(parse_matpower(case.text(), "tiny.m", "tiny"))
    assert np.degrees(found.violations["line_angle"]) == pytest.approx(violation, abs=1e-9)
    network = case.network()
    delta = np.radians(turned + beyond)
    kept = network.lines.angle_min[0] <= delta <= network.lines.angle_max[0]
    assert kept == (violation == 0.0)
