"""The four agents, each a small problem solved on its own: the paper's Models 2 to 5.

An agent holds copies x of what it shares with its buses. Each copy has a target t = z − λ/ρ, from
the bus's copy z, the multiplier λ and the penalty ρ; the agent stays as close to its targets (in
the metric of ρ) as its own constraints allow. Voltages are shared as w = v² and the angle θ.

The functions take and return numbers and tuples of numbers only. So they compile for a CPU and for
a GPU alike, and whoever owns some of the agents can call them for those alone.
"""

import math

from gridveil.admm.compiled import compiled, compiled_inner

Four = tuple[float, float, float, float]
Five = tuple[float, float, float, float, float]
Six = tuple[float, float, float, float, float, float]
Eight = tuple[float, float, float, float, float, float, float, float]
"""What a line shares: p and q at its from and its to end, w at both, θ at both."""
Expansion = tuple[float, float, float, float, float, float, float, float, float, float]
"""A value, its gradient, and the upper half of its Hessian row by row, in (v_f, v_t, δ)."""

_LAST_STEP = 1e-8
"""A Newton step this small is the last: what it leaves is of the order of its square."""
_ROUNDING = 1e-13
_LEAST_DAMPING = 1e-12
_MOST_STEPS = 200
_MOST_ROUNDS = 40
_RATE_TOLERANCE = 1e-11
"""How far |S|²/rate² may be above 1."""
_RATE_PENALTY = 20.0
"""First weight of a broken limit, relative to that of the flows; ten times more if too little."""
_FAIR_PROGRESS = 0.1
_CLEAR_OF_RATE = -1e-3
"""|S|²/rate² − 1 below which a limit without multiplier plays no part in the last step."""


@compiled
def load_agent(noisy: float, target: float, rho: float) -> float:
    """Model 2: return the x that minimises (x − S̃)² + ρ/2 (x − t)², for p and for q."""
    return (2.0 * noisy + rho * target) / (2.0 + rho)


@compiled
def generator_agent(target: float, low: float, high: float, best: float) -> float:
    """Model 3: return the nearer to the target of `best` and the interval [low, high].

    Going through the intervals of a generator's band, from `best` = ∞ on, finds the output nearest
    to its target that costs what it should. A reactive output has one interval, its limits.
    """
    nearest = min(max(target, low), high)
    return nearest if abs(nearest - target) < abs(best - target) else best


@compiled
def bus_agent(
    p_left: float,
    q_left: float,
    p_room: float,
    q_room: float,
    shunt_g: float,
    shunt_b: float,
    w_room: float,
) -> tuple[float, float]:
    """Model 5: return the multipliers μ of a bus's P and Q balance, in closed form.

    `p_left` and `q_left` are what is left over (in less out, shunts included) with every copy at
    its target, the rooms are Σ1/ρ for powers and 1/Σρ for w. Each power then moves from its target
    by ±μ/ρ, + if it feeds in, and w by (−g μ_p + b μ_q) w_room.
    """
    pp = p_room + shunt_g * shunt_g * w_room
    qq = q_room + shunt_b * shunt_b * w_room
    pq = -shunt_g * shunt_b * w_room
    determinant = pp * qq - pq * pq
    if determinant <= 0.0:
        return 0.0, 0.0
    return (pq * q_left - qq * p_left) / determinant, (pq * p_left - pp * q_left) / determinant


@compiled
def lone_bus_voltage(
    p_left: float,
    q_left: float,
    p_room: float,
    q_room: float,
    shunt_g: float,
    shunt_b: float,
    w_min: float,
    w_max: float,
) -> float:
    """Return the w of a bus without lines, where only its shunts are to be fed.

    `p_left` and `q_left` are what the copies leave over without the shunts.
    """
    curvature = w = 0.0
    if p_room > 0.0:
        curvature = shunt_g * shunt_g / p_room + shunt_b * shunt_b / q_room
        w = shunt_g * p_left / p_room - shunt_b * q_left / q_room
    return min(max(w / curvature if curvature > 0.0 else 1.0, w_min), w_max)


@compiled
def line_agent(
    square: Four,
    cosine: Four,
    sine: Four,
    rate: float,
    box: Six,
    target: Eight,
    rho: Eight,
    start: Five,
) -> Five:
    """Model 4: project a line's eight targets onto its physics and limits.

    The flows depend on (v_f, v_t, δ) alone, and given δ each angle moves from its target in inverse
    proportion to its penalty. So this is a problem of three variables in a box, solved by damped
    Newton steps from the last solution. An augmented Lagrangian keeps the thermal limits.

    `square`, `cosine`, `sine` are the line's flow coefficients (see network/flows.py), `box` limits
    v_f, v_t and δ, `start` is the last (v_f, v_t, δ, μ_f, μ_t), with the multipliers μ of
    |S|²/rate² ≤ 1 at both ends. The result is such a tuple again.
    """
    v_f = min(max(start[0], box[0]), box[1])
    v_t = min(max(start[1], box[2]), box[3])
    delta = min(max(start[2], box[4]), box[5])
    mu_f, mu_t = start[3], start[4]
    weight = _RATE_PENALTY * 0.25 * (rho[0] + rho[1] + rho[2] + rho[3])
    penalty = weight * rate * rate if rate < math.inf else 1.0
    last_miss = math.inf
    for _ in range(_MOST_ROUNDS):
        model, new_f, new_t, excess = _line_model(
            square, cosine, sine, rate, target, rho, v_f, v_t, delta, mu_f, mu_t, penalty
        )
        damping = 0.0
        for _ in range(_MOST_STEPS):
            scale = abs(model[4]) + abs(model[7]) + abs(model[9])
            definite, a, b, d = _newton_step(
                model,
                _is_free(v_f, box[0], box[1], model[1]),
                _is_free(v_t, box[2], box[3], model[2]),
                _is_free(delta, box[4], box[5], model[3]),
                damping,
            )
            if not definite:
                damping = max(8.0 * damping, _LEAST_DAMPING * scale)
                continue
            a = min(max(v_f + a, box[0]), box[1])
            b = min(max(v_t + b, box[2]), box[3])
            d = min(max(delta + d, box[4]), box[5])
            size = max(abs(a - v_f), abs(b - v_t), abs(d - delta))
            last = size <= _LAST_STEP and damping == 0.0
            if last and mu_f == 0.0 and mu_t == 0.0 and excess < _CLEAR_OF_RATE:
                v_f, v_t, delta = a, b, d
                break
            after, after_f, after_t, after_excess = _line_model(
                square, cosine, sine, rate, target, rho, a, b, d, mu_f, mu_t, penalty
            )
            promised = model[1] * (a - v_f) + model[2] * (b - v_t) + model[3] * (d - delta)
            if last or after[0] <= model[0] + 1e-4 * promised + _ROUNDING * abs(model[0]):
                v_f, v_t, delta = a, b, d
                model, new_f, new_t, excess = after, after_f, after_t, after_excess
                damping = 0.0 if damping <= _LEAST_DAMPING * scale else 0.125 * damping
                if last:
                    break
            elif size <= 1e-14:
                break
            else:
                damping = max(8.0 * damping, _LEAST_DAMPING * scale)
        miss = max(abs(new_f - mu_f), abs(new_t - mu_t)) / penalty
        mu_f, mu_t = new_f, new_t
        if miss <= _RATE_TOLERANCE:
            break
        if miss > _FAIR_PROGRESS * last_miss:
            penalty *= 10.0
        last_miss = miss
    return v_f, v_t, delta, mu_f, mu_t


@compiled
def line_copies(
    square: Four, cosine: Four, sine: Four, target: Eight, rho: Eight, solution: Five
) -> Eight:
    """Return the eight copies that belong to a line agent's solution."""
    v_f, v_t, delta = solution[0], solution[1], solution[2]
    c, s, vv = math.cos(delta), math.sin(delta), v_f * v_t
    turn = (delta - (target[6] - target[7])) / (rho[6] + rho[7])
    return (
        square[0] * v_f * v_f + vv * (cosine[0] * c + sine[0] * s),
        square[1] * v_f * v_f + vv * (cosine[1] * c + sine[1] * s),
        square[2] * v_t * v_t + vv * (cosine[2] * c + sine[2] * s),
        square[3] * v_t * v_t + vv * (cosine[3] * c + sine[3] * s),
        v_f * v_f,
        v_t * v_t,
        target[6] + rho[7] * turn,
        target[7] - rho[6] * turn,
    )


@compiled_inner
def _is_free(value: float, low: float, high: float, slope: float) -> bool:
    """Whether a variable may move downhill: it does not stand at a limit and press against it."""
    return not ((value <= low and slope >= 0.0) or (value >= high and slope <= 0.0))


@compiled_inner
def _line_model(
    square: Four,
    cosine: Four,
    sine: Four,
    rate: float,
    target: Eight,
    rho: Eight,
    v_f: float,
    v_t: float,
    delta: float,
    mu_f: float,
    mu_t: float,
    penalty: float,
) -> tuple[Expansion, float, float, float]:
    """Return a line's objective with derivatives, its limits' new multipliers, the worst excess."""
    c, s = math.cos(delta), math.sin(delta)
    p_f = _flow(square[0], 0.0, cosine[0], sine[0], v_f, v_t, c, s)
    q_f = _flow(square[1], 0.0, cosine[1], sine[1], v_f, v_t, c, s)
    p_t = _flow(0.0, square[2], cosine[2], sine[2], v_f, v_t, c, s)
    q_t = _flow(0.0, square[3], cosine[3], sine[3], v_f, v_t, c, s)
    total = _voltages(target, rho, v_f, v_t, delta)
    total = _add(total, p_f, *_square(rho[0], p_f[0] - target[0]))
    total = _add(total, q_f, *_square(rho[1], q_f[0] - target[1]))
    total = _add(total, p_t, *_square(rho[2], p_t[0] - target[2]))
    total = _add(total, q_t, *_square(rho[3], q_t[0] - target[3]))
    if not rate < math.inf:
        return total, 0.0, 0.0, -1.0
    total, mu_f, excess_f = _add_limit(total, p_f, q_f, rate, mu_f, penalty)
    total, mu_t, excess_t = _add_limit(total, p_t, q_t, rate, mu_t, penalty)
    return total, mu_f, mu_t, max(excess_f, excess_t)


@compiled_inner
def _voltages(target: Eight, rho: Eight, v_f: float, v_t: float, delta: float) -> Expansion:
    """Return the part of a line's objective that depends on voltages alone."""
    w_f, w_t = v_f * v_f - target[4], v_t * v_t - target[5]
    turn = delta - (target[6] - target[7])
    stiffness = rho[6] * rho[7] / (rho[6] + rho[7])
    return (
        0.5 * (rho[4] * w_f * w_f + rho[5] * w_t * w_t + stiffness * turn * turn),
        2.0 * rho[4] * w_f * v_f,
        2.0 * rho[5] * w_t * v_t,
        stiffness * turn,
        rho[4] * (2.0 * w_f + 4.0 * v_f * v_f),
        0.0,
        0.0,
        rho[5] * (2.0 * w_t + 4.0 * v_t * v_t),
        0.0,
        stiffness,
    )


@compiled_inner
def _flow(
    square_f: float,
    square_t: float,
    cosine: float,
    sine: float,
    v_f: float,
    v_t: float,
    c: float,
    s: float,
) -> Expansion:
    """Return a flow a v_end² + v_f v_t (α cos δ + β sin δ) with its derivatives."""
    wave = cosine * c + sine * s
    slope = sine * c - cosine * s
    return (
        square_f * v_f * v_f + square_t * v_t * v_t + v_f * v_t * wave,
        2.0 * square_f * v_f + v_t * wave,
        2.0 * square_t * v_t + v_f * wave,
        v_f * v_t * slope,
        2.0 * square_f,
        wave,
        v_t * slope,
        2.0 * square_t,
        v_f * slope,
        -v_f * v_t * wave,
    )


@compiled_inner
def _square(rho: float, gap: float) -> tuple[float, float, float]:
    """Return ρ/2 gap² with its two derivatives."""
    return 0.5 * rho * gap * gap, rho * gap, rho


@compiled_inner
def _add(
    total: Expansion, inner: Expansion, value: float, slope: float, curvature: float
) -> Expansion:
    """Add a function of one inner quantity, given by its value and its two derivatives there."""
    _, a, b, d, aa, ab, ad, bb, bd, dd = inner
    return (
        total[0] + value,
        total[1] + slope * a,
        total[2] + slope * b,
        total[3] + slope * d,
        total[4] + curvature * a * a + slope * aa,
        total[5] + curvature * a * b + slope * ab,
        total[6] + curvature * a * d + slope * ad,
        total[7] + curvature * b * b + slope * bb,
        total[8] + curvature * b * d + slope * bd,
        total[9] + curvature * d * d + slope * dd,
    )


@compiled_inner
def _add_limit(
    total: Expansion, p: Expansion, q: Expansion, rate: float, multiplier: float, penalty: float
) -> tuple[Expansion, float, float]:
    """Add the augmented Lagrangian of |S|²/rate² ≤ 1; return also the new multiplier and excess."""
    share = 1.0 / (rate * rate)
    load = _add(
        (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        p,
        share * p[0] * p[0],
        2.0 * share * p[0],
        2.0 * share,
    )
    load = _add(load, q, share * q[0] * q[0], 2.0 * share * q[0], 2.0 * share)
    force = max(multiplier + penalty * load[0], 0.0)
    value = (force * force - multiplier * multiplier) / (2.0 * penalty)
    return _add(total, load, value, force, penalty if force > 0.0 else 0.0), force, load[0]


@compiled_inner
def _newton_step(
    model: Expansion, free_f: bool, free_t: bool, free_d: bool, damping: float
) -> tuple[bool, float, float, float]:
    """Return whether the damped Hessian of the free variables is definite, and the Newton step."""
    _, g0, g1, g2, h00, h01, h02, h11, h12, h22 = model
    if not free_f:
        g0, h00, h01, h02 = 0.0, 1.0, 0.0, 0.0
    if not free_t:
        g1, h01, h11, h12 = 0.0, 0.0, 1.0, 0.0
    if not free_d:
        g2, h02, h12, h22 = 0.0, 0.0, 0.0, 1.0
    tiny = 1e-14 * (abs(h00) + abs(h11) + abs(h22))
    d0 = h00 + damping
    if d0 <= tiny:
        return False, 0.0, 0.0, 0.0
    l10, l20 = h01 / d0, h02 / d0
    d1 = h11 + damping - l10 * h01
    if d1 <= tiny:
        return False, 0.0, 0.0, 0.0
    l21 = (h12 - l20 * h01) / d1
    d2 = h22 + damping - l20 * h02 - l21 * (h12 - l20 * h01)
    if d2 <= tiny:
        return False, 0.0, 0.0, 0.0
    y1 = -g1 + l10 * g0
    step2 = (-g2 + l20 * g0 - l21 * y1) / d2
    step1 = y1 / d1 - l21 * step2
    return True, -g0 / d0 - l10 * step1 - l20 * step2, step1, step2
