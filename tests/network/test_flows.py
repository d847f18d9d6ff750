"""The real flow equations against complex arithmetic on the bus admittance matrix."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridveil.network.components import Lines
from gridveil.network.flows import P_FROM, P_TO, flow_coefficients
from gridveil.opf.physics import Physics
from tests.cases import TINY, bus, line

BUSES = 5
BARE = TINY.with_(
    bus=[bus(1, 3), *(bus(n, 1) for n in (2, 3, 4, 7))],
    branch=[line(1, n) for n in (2, 3, 4, 7)],
).network()
"""A network of five buses, whose lines and shunts the tests replace."""


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


@st.composite
def lines(draw: st.DrawFn) -> Lines:
    """Lines between five buses: parallel ones, transformers, negative reactances and all."""
    count = draw(st.integers(1, 12))
    start = draw(arrays(np.int64, count, elements=st.integers(0, BUSES - 1)))
    hop = draw(arrays(np.int64, count, elements=st.integers(1, BUSES - 1)))

    def column(low: float, high: float) -> np.ndarray:
        return draw(arrays(float, count, elements=floats(low, high)))

    sign = draw(arrays(float, count, elements=st.sampled_from([-1.0, 1.0, 1.0])))
    none = np.full(count, np.inf)
    return Lines(
        from_bus=start,
        to_bus=(start + hop) % BUSES,
        r=column(-0.02, 0.3),
        x=sign * column(0.03, 1.0),
        b=column(0.0, 2.0),
        tap=column(0.8, 1.2),
        shift=column(-1.0, 1.0),
        rate=none,
        angle_min=-none,
        angle_max=none,
        row=np.arange(count),
    )


def admittance_matrix(lines: Lines, shunt: np.ndarray) -> np.ndarray:
    """Y with I = Y V, assembled with a plain loop from each line's two-port equations."""
    matrix = np.diag(shunt).astype(complex)
    for k in range(len(lines)):
        f, t = lines.from_bus[k], lines.to_bus[k]
        series = 1 / complex(lines.r[k], lines.x[k])
        ratio = lines.tap[k] * np.exp(1j * lines.shift[k])
        own = series + 0.5j * lines.b[k]
        matrix[f, f] += own / abs(ratio) ** 2
        matrix[f, t] -= series / np.conj(ratio)
        matrix[t, f] -= series / ratio
        matrix[t, t] += own
    return matrix


voltages = arrays(float, BUSES, elements=floats(0.8, 1.2))
angles = arrays(float, BUSES, elements=floats(-1.5, 1.5))
shunts = arrays(float, (2, BUSES), elements=floats(-1.0, 1.0))


@given(lines(), voltages, angles, shunts)
@settings(max_examples=500)
def test_flows_out_of_each_bus_equal_the_admittance_matrix(lines, v, theta, shunt):
    buses = replace(BARE.buses, shunt_g=shunt[0], shunt_b=shunt[1])
    balance = Physics(replace(BARE, buses=buses, lines=lines)).values(np.concatenate([theta, v]))
    voltage = v * np.exp(1j * theta)
    expected = voltage * np.conj(admittance_matrix(lines, shunt[0] + 1j * shunt[1]) @ voltage)
    assert np.abs(balance[:BUSES] - expected.real).max() <= 1e-12
    assert np.abs(balance[BUSES:] - expected.imag).max() <= 1e-12


@given(lines(), voltages, angles)
@settings(max_examples=200)
def test_a_line_loses_what_its_resistances_take(lines, v, theta):
    """The active flows into both ends add up to the losses in the series impedance alone."""
    c, f, t = flow_coefficients(lines), lines.from_bus, lines.to_bus
    delta = theta[f] - theta[t]
    wave = c.cosine * np.cos(delta) + c.sine * np.sin(delta)
    p_from = c.square[P_FROM] * v[f] ** 2 + v[f] * v[t] * wave[P_FROM]
    p_to = c.square[P_TO] * v[t] ** 2 + v[f] * v[t] * wave[P_TO]
    voltage = v * np.exp(1j * theta)
    drop = voltage[f] / (lines.tap * np.exp(1j * lines.shift)) - voltage[t]
    losses = np.abs(drop * lines.y) ** 2 * lines.r
    assert np.abs(p_from + p_to - losses).max() <= 1e-12
