"""Model 4 against Ipopt on the same small problem, and its optimality conditions."""

from dataclasses import dataclass

import casadi
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.line_by_ipopt import LineByIpopt
from gridveil.admm.agents import line_agent, line_copies
from gridveil.network.components import Lines
from gridveil.network.flows import flow_coefficients

IPOPT = LineByIpopt()
PULL = casadi.Function(
    "pull",
    [IPOPT.variables, IPOPT.parameters],
    [
        casadi.gradient(IPOPT.objective, IPOPT.variables),
        casadi.jacobian(IPOPT.constraints, IPOPT.variables),
        IPOPT.constraints,
        casadi.hessian(IPOPT.objective, IPOPT.variables)[0],
    ],
)


@dataclass(frozen=True)
class Instance:
    """A line agent's problem."""

    line: tuple[float, ...]
    box: tuple[float, ...]
    target: tuple[float, ...]
    rho: tuple[float, ...]

    @property
    def parameters(self):
        return np.array([*self.line, *self.target, *self.rho])

    def coefficients(self):
        r, x, b, tap, shift, rate = (np.array([value]) for value in self.line)
        none, far = np.array([0]), np.array([1.0])
        lines = Lines(none, none, r, x, b, tap, shift, rate, -far, far, none)
        found = flow_coefficients(lines)
        return tuple(tuple(row[:, 0].tolist()) for row in (found.square, found.cosine, found.sine))

    def solve(self):
        """Return our solution as Ipopt's variables, the limits' multipliers and the copies."""
        flat = tuple(
            min(max(a, lo), hi)
            for a, lo, hi in zip((1, 1, 0), self.box[::2], self.box[1::2], strict=True)
        )
        coefficients = self.coefficients()
        solution = line_agent(
            *coefficients, self.line[5], self.box, self.target, self.rho, (*flat, 0.0, 0.0)
        )
        copies = line_copies(*coefficients, self.target, self.rho, solution)
        return np.array([solution[0], solution[1], copies[6], copies[7]]), solution[3:], copies

    def objective(self, copies):
        return 0.5 * sum(
            r * (c - t) ** 2 for r, c, t in zip(self.rho, copies, self.target, strict=True)
        )


def has_feasible_points(instance):
    """Whether some point of a grid over the box keeps the thermal limits with room to spare."""
    if instance.line[5] == np.inf:
        return True
    box = instance.box
    v_f, v_t, delta = np.meshgrid(
        np.linspace(*box[:2], 9), np.linspace(*box[2:4], 9), np.linspace(*box[4:], 201)
    )
    square, cosine, sine = instance.coefficients()
    ends = [v_f, v_f, v_t, v_t]
    p_f, q_f, p_t, q_t = (
        a * v**2 + v_f * v_t * (b * np.cos(delta) + c * np.sin(delta))
        for a, b, c, v in zip(square, cosine, sine, ends, strict=True)
    )
    worst = np.maximum(np.hypot(p_f, q_f), np.hypot(p_t, q_t))
    return worst.min() <= 0.95 * instance.line[5]


def numbers(low, high):
    return st.floats(low, high, allow_nan=False, width=64)


@st.composite
def instances(draw):
    """Lines as networks have them, with targets far enough off to press against every limit."""
    r, x = draw(numbers(0.0, 0.05)), draw(numbers(0.01, 0.3))
    tap, shift = draw(numbers(0.9, 1.1)), draw(numbers(-0.3, 0.3))
    rate = draw(st.sampled_from([np.inf, 5.0, 1.0, 0.4]))
    line = (r, x, draw(numbers(0.0, 0.3)), tap, shift, rate)
    v = [sorted((draw(numbers(0.85, 1.0)), draw(numbers(1.0, 1.15)))) for _ in range(2)]
    spread = draw(st.sampled_from([0.05, 0.3, 1.0]))
    box = (*v[0], *v[1], shift - spread, shift + spread)
    flows = [draw(numbers(-2.0, 2.0)) for _ in range(4)]
    voltages = [draw(numbers(0.6, 1.4)) for _ in range(2)]
    angles = [draw(numbers(-0.5, 0.5)) for _ in range(2)]
    rho = [10 ** draw(numbers(-2.0, 2.0)) for _ in range(4)]
    rho = tuple(np.repeat(rho, 2).tolist())
    instance = Instance(line, box, (*flows, *voltages, *angles), rho)
    assume(has_feasible_points(instance))
    return instance


def residual(instance, solution, limits):
    """Return how far a solution is off the first-order conditions, relative to its curvature."""
    gradient, jacobian, constraints, hessian = (
        np.array(part) for part in PULL(solution, instance.parameters)
    )
    force = gradient.ravel() + np.array(limits) @ jacobian[1:]
    low = np.array([instance.box[0], instance.box[2]])
    high = np.array([instance.box[1], instance.box[3]])
    # A voltage at its limit may be pushed outwards, an angle difference too.
    for i in range(2):
        if solution[i] <= low[i]:
            force[i] = min(force[i], 0.0)
        if solution[i] >= high[i]:
            force[i] = max(force[i], 0.0)
    turn = solution[2] - solution[3]
    edge = 1e-12
    if turn <= instance.box[4] + edge:
        push = max(force[2], 0.0)
    elif turn >= instance.box[5] - edge:
        push = min(force[2], 0.0)
    else:
        push = 0.0
    force[2:] -= np.array([push, -push])
    scale = 1.0 + np.abs(hessian).max()
    slack = [max(c - 1.0, 0.0) for c in constraints.ravel()[1:]]
    complementary = [
        m * (c - 1.0) / scale for m, c in zip(limits, constraints.ravel()[1:], strict=True)
    ]
    return max(np.abs(force).max() / scale, *slack, *np.abs(complementary))


@settings(max_examples=2000)
@given(instances())
def test_the_optimality_conditions_hold(instance):
    solution, limits, _ = instance.solve()
    assert all(m >= 0 for m in limits)
    for i in range(2):
        assert instance.box[2 * i] <= solution[i] <= instance.box[2 * i + 1]
    assert instance.box[4] - 1e-12 <= solution[2] - solution[3] <= instance.box[5] + 1e-12
    assert residual(instance, solution, limits) <= 1e-8


@settings(max_examples=1000)
@given(instances())
def test_ipopt_finds_the_same(instance):
    """From a flat start; or, where there are several local optima, from near ours."""
    solution, _, copies = instance.solve()
    ours = instance.objective(copies)
    rate = 1e4 if instance.line[5] == np.inf else instance.line[5]
    parameters = np.array([*instance.line[:5], rate, *instance.target, *instance.rho])
    flat = np.array([1.0, 1.0, *instance.target[6:]])
    _, theirs, solved = IPOPT.solve(parameters, np.array(instance.box), flat)
    assert solved
    if abs(ours - theirs) > 1e-7 * (1.0 + abs(theirs)):
        for nudge in np.array([[1, 1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, 1]]) * 1e-3:
            near = IPOPT.solve(parameters, np.array(instance.box), solution + nudge)[1]
            assert ours <= near + 1e-7 * (1.0 + abs(near))


def test_the_instances_press_against_every_kind_of_limit():
    pressed = {"voltage": 0, "angle": 0, "rate": 0, "none": 0}

    @settings(max_examples=500)
    @given(instances())
    def count(instance):
        solution, limits, _ = instance.solve()
        turn = solution[2] - solution[3]
        at = {
            "voltage": any(
                v in instance.box[2 * i : 2 * i + 2] for i, v in enumerate(solution[:2])
            ),
            "angle": min(abs(turn - limit) for limit in instance.box[4:]) < 1e-12,
            "rate": max(limits) > 0,
        }
        for kind, pressing in at.items():
            pressed[kind] += pressing
        pressed["none"] += not any(at.values())

    count()
    assert min(pressed.values()) >= 20, pressed
