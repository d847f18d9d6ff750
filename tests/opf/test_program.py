"""The program's derivatives against CasADi's automatic differentiation of the same network."""

import casadi
import numpy as np
import pytest
from scipy.sparse import coo_array

from gridveil import load_case
from gridveil.opf.physics import Physics
from gridveil.opf.program import ProgramBuilder

CASES = ["case14_ieee", "case57_ieee", "case89_pegase"]


def symbolic(network):
    """N(θ, v) written a second time, in CasADi's symbols and complex two-port equations."""
    n, lines = len(network.buses), network.lines
    x = casadi.SX.sym("x", 2 * n)
    theta, v = x[:n], x[n:]
    p = [network.buses.shunt_g[i] * v[i] ** 2 for i in range(n)]
    q = [-network.buses.shunt_b[i] * v[i] ** 2 for i in range(n)]
    at_from, at_to = [], []
    for k in range(len(lines)):
        f, t = int(lines.from_bus[k]), int(lines.to_bus[k])
        vf = (v[f] * casadi.cos(theta[f]), v[f] * casadi.sin(theta[f]))
        vt = (v[t] * casadi.cos(theta[t]), v[t] * casadi.sin(theta[t]))
        for bus, own, other, y_own, y_other, squares in (
            (f, vf, vt, lines.y_ff[k], lines.y_ft[k], at_from),
            (t, vt, vf, lines.y_tt[k], lines.y_tf[k], at_to),
        ):
            real = (y_own.real * own[0] - y_own.imag * own[1]) + (
                y_other.real * other[0] - y_other.imag * other[1]
            )
            imag = (y_own.real * own[1] + y_own.imag * own[0]) + (
                y_other.real * other[1] + y_other.imag * other[0]
            )
            flow_p, flow_q = own[0] * real + own[1] * imag, own[1] * real - own[0] * imag
            p[bus], q[bus] = p[bus] + flow_p, q[bus] + flow_q
            if np.isfinite(lines.rate[k]):
                squares.append(flow_p**2 + flow_q**2)
    return x, casadi.vertcat(*p, *q, *at_from, *at_to)


@pytest.mark.parametrize("name", CASES)
def test_values_jacobian_and_hessian(name):
    network = load_case(name)
    physics = Physics(network)
    x, g = symbolic(network)
    multipliers = casadi.SX.sym("m", g.shape[0])
    hessian = casadi.hessian(casadi.dot(multipliers, g), x)[0]
    evaluate = casadi.Function("f", [x, multipliers], [g, casadi.jacobian(g, x), hessian])

    random = np.random.default_rng(1)
    n = len(network.buses)
    point = np.concatenate([random.uniform(-0.5, 0.5, n), random.uniform(0.9, 1.1, n)])
    weights = random.normal(size=physics.rows)
    values, jacobian, hessian = (np.array(out) for out in evaluate(point, weights))

    def close(ours, theirs):
        return np.abs(ours - theirs).max() <= 1e-12 * max(1.0, np.abs(theirs).max())

    assert close(physics.values(point), values.ravel())
    shape = (physics.rows, physics.columns)
    ours = coo_array((physics.jacobian(point), physics.jacobian_structure()), shape=shape)
    assert close(ours.toarray(), jacobian)
    rows, cols = physics.hessian_structure()
    assert np.all(rows >= cols)
    ours = coo_array(
        (physics.hessian(point, weights), (rows, cols)), shape=(2 * n, 2 * n)
    ).toarray()
    assert close(ours, np.tril(hessian))


def test_the_linear_part_and_the_costs():
    """g(x) = N + A x, and f the sum of polynomials, checked by finite differences."""
    network = load_case("case14_ieee")
    builder = ProgramBuilder(network, *network.bus_load())
    gens = network.generators
    quartic = np.tile([1.0, 2.0, -1.0, 0.5, 3.0], (len(gens), 1))
    builder.add_dispatch(gens.p_min, gens.p_max, gens.q_min, gens.q_max, quartic)
    total = builder.add_rows(np.zeros(1), np.ones(1))
    builder.set_polynomial_terms(np.repeat(total, len(gens)), builder.p, quartic[:, :4])
    program = builder.build()
    random = np.random.default_rng(2)
    x = builder.start(program, builder.point(random.uniform(0.1, 0.9, len(program.x_min))))
    p = x[builder.p]
    assert program.constraints(x)[total[0]] == pytest.approx((1 + 2 * p - p**2 + 0.5 * p**3).sum())
    assert program.objective(x) == pytest.approx((1 + 2 * p - p**2 + 0.5 * p**3 + 3 * p**4).sum())

    step, direction = 1e-6, random.normal(size=len(x))
    multipliers = random.normal(size=len(program.g_min))
    shape = (len(program.g_min), len(x))

    def lagrangian_gradient(at):
        jacobian = coo_array((program.jacobian(at), program.jacobian_structure()), shape=shape)
        return 2.0 * program.gradient(at) + jacobian.T @ multipliers

    ahead, behind = x + step * direction, x - step * direction
    slope = (program.constraints(ahead) - program.constraints(behind)) / (2 * step)
    jacobian = coo_array((program.jacobian(x), program.jacobian_structure()), shape=shape)
    assert jacobian @ direction == pytest.approx(slope, abs=1e-6)

    cells = program.hessian_structure()
    lower = coo_array((program.hessian(x, 2.0, multipliers), cells), shape=(len(x),) * 2).toarray()
    hessian = lower + np.tril(lower, -1).T
    slope = (lagrangian_gradient(ahead) - lagrangian_gradient(behind)) / (2 * step)
    assert hessian @ direction == pytest.approx(slope, abs=1e-5)
