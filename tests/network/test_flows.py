"""The real flow equations against complex arithmetic on the bus admittance matrix."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO, line_flows
from gridveil.network.network import Lines

BUSES = 5


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
    flows = line_flows(lines, v, theta)
    power = (shunt[0] - 1j * shunt[1]) * v**2
    np.add.at(power, lines.from_bus, flows[P_FROM] + 1j * flows[Q_FROM])
    np.add.at(power, lines.to_bus, flows[P_TO] + 1j * flows[Q_TO])

    voltage = v * np.exp(1j * theta)
    expected = voltage * np.conj(admittance_matrix(lines, shunt[0] + 1j * shunt[1]) @ voltage)
    assert np.abs(power - expected).max() <= 1e-12


@given(lines(), voltages, angles)
@settings(max_examples=200)
def test_a_line_loses_what_its_resistances_take(lines, v, theta):
    """The flows into both ends add up to the losses in the series impedance alone."""
    flows = line_flows(lines, v, theta)
    ratio = lines.tap * np.exp(1j * lines.shift)
    voltage = v * np.exp(1j * theta)
    drop = voltage[lines.from_bus] / ratio - voltage[lines.to_bus]
    losses = np.abs(drop * lines.y) ** 2 * lines.r
    assert np.abs(flows[P_FROM] + flows[P_TO] - losses).max() <= 1e-12
