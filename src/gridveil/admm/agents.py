"""The four agents, each a small problem solved on its own: the paper's Models 2 to 5.

An agent holds copies x of the quantities that it shares with its buses. Each copy has a target
t = z − λ/ρ, from the bus's copy z, the multiplier λ and the penalty ρ; the agent stays as close to
its targets (in the metric of ρ) as its own constraints allow. Voltages are shared as w = v² and the
angle θ.

The functions take and return numbers and tuples of numbers only. So they compile for a CPU and for
a GPU alike, and the owner of some of the agents can call them for those alone.
"""

import math

from gridveil.admm.compiled import compiled, compiled_inner

Two = tuple[float, float]
Three = tuple[float, float, float]
Four = tuple[float, float, float, float]
Five = tuple[float, float, float, float, float]
Six = tuple[float, float, float, float, float, float]
Eight = tuple[float, float, float, float, float, float, float, float]
"""The copies of a line: p and q at its from and its to end, w at both, θ at both."""
Expansion = tuple[float, float, float, float, float, float, float, float, float, float]
"""A value, its gradient, and the upper half of its Hessian row by row, in (v_f, v_t, δ)."""

_LAST_STEP = 1e-8
"""A Newton step of at most this size is the last: the error left is of the order of its square."""
_ROUNDING = 2e-16
_MOST_STEPS = 100
_MOST_CHANGES = 40
"""The largest number of changes of the active set within a step."""
_SUFFICIENT_DECREASE = 1e-4
"""The share of the predicted decrease of the merit function that a step must achieve."""
_SMALLEST_SHARE, _DAMPING = 0.01, 1e-3
"""A step that fails even when cut to this share is damped by this, relative to the curvature."""
_FIRST_DAMPING = 1e-9
"""First damping of a model without a minimum, relative to the curvature."""
_RATE_TOLERANCE = 1e-11
"""How far |S|²/rate² may be above 1."""
_RATE_PENALTY = 20.0
"""Usual penalty of a violated limit, relative to that of the flows."""
_LOWEST_PENALTY, _HIGHEST_PENALTY = 0.02, 1e4
"""How far it may fall while steps fail, and rise once they are shorter than _NEAR, relatively."""
_NEAR = 1e-4
_CLEAR_OF_RATE = -1e-3
"""|S|²/rate² − 1 below which a limit without multiplier is ignored in the last step."""


@compiled
def load_agent(noisy: float, weight: float, target: float, rho: float) -> float:
    """Model 2: return the x that minimises w (x − S̃)² + ρ/2 (x − t)², for p and for q."""
    curvature = 2.0 * weight
    return (curvature * noisy + rho * target) / (curvature + rho)


@compiled
def consumer_agent(p: float, q: float, p_curvature: float, q_curvature: float, slope: float) -> Two:
    """Return the p and q nearest to those given with p ≥ 0 and |q| ≤ slope·p.

    Nearest by ½(p_curvature Δp² + q_curvature Δq²), so that from the minimum of Model 2 without
    limits it leads to the minimum within them. Outside, that is on the edge with the sign of q.
    """
    if slope == math.inf:
        return max(p, 0.0), q
    if abs(q) <= slope * p:
        return p, q
    along = p_curvature * p + slope * q_curvature * abs(q)
    on_edge = max(along / (p_curvature + slope * slope * q_curvature), 0.0)
    return on_edge, math.copysign(slope * on_edge, q)


@compiled
def generator_agent(target: float, low: float, high: float, best: float) -> float:
    """Model 3: return the nearer to the target of `best` and the interval [low, high].

    Called for every interval of a generator's band in turn, from `best` = ∞ on, it finds the output
    nearest to the target within the band. A reactive output has one interval, its limits.
    """
    nearest = min(max(target, low), high)
    return nearest if abs(nearest - target) < abs(best - target) else best


@compiled
def bus_agent(
    p_surplus: float,
    q_surplus: float,
    p_inverse_rho: float,
    q_inverse_rho: float,
    shunt_g: float,
    shunt_b: float,
    w_inverse_rho: float,
) -> tuple[float, float]:
    """Model 5: return the multipliers μ of a bus's P and Q balance, in closed form.

    The surpluses (in less out, shunts included) are those with every copy at its target. The
    inverse penalties are Σ1/ρ for powers and 1/Σρ for w. Each power then moves from its target by
    ±μ/ρ, + if it feeds in, and w by (−g μ_p + b μ_q)/Σρ.
    """
    pp = p_inverse_rho + shunt_g * shunt_g * w_inverse_rho
    qq = q_inverse_rho + shunt_b * shunt_b * w_inverse_rho
    pq = -shunt_g * shunt_b * w_inverse_rho
    determinant = pp * qq - pq * pq
    if determinant <= 0.0:
        return 0.0, 0.0
    return (pq * q_surplus - qq * p_surplus) / determinant, (
        pq * p_surplus - pp * q_surplus
    ) / determinant


@compiled
def lone_bus_voltage(
    p_surplus: float,
    q_surplus: float,
    p_inverse_rho: float,
    q_inverse_rho: float,
    shunt_g: float,
    shunt_b: float,
    w_min: float,
    w_max: float,
) -> float:
    """Return the w of a bus without lines: its shunts take the surplus of its other copies."""
    curvature = w = 0.0
    if p_inverse_rho > 0.0:
        curvature = shunt_g * shunt_g / p_inverse_rho + shunt_b * shunt_b / q_inverse_rho
        w = shunt_g * p_surplus / p_inverse_rho - shunt_b * q_surplus / q_inverse_rho
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
    proportion to its penalty. So this is a problem of three variables in a box with two thermal
    limits |S|²/rate² ≤ 1, solved by Newton steps from a warm start. A step keeps the box, and the
    limits to first order; an augmented Lagrangian is the merit function.

    Args:
        square: The line's flow coefficients a (see network/flows.py).
        cosine: Its flow coefficients α.
        sine: Its flow coefficients β.
        rate: Its thermal limit, infinite if there is none.
        box: Lower and upper limits of v_f, v_t and δ.
        target: The targets of its copies.
        rho: Their penalties.
        start: The last solution (v_f, v_t, δ, μ_f, μ_t), with the multipliers μ of the thermal
            limits at both ends. The result is the next one.
    """
    point, mu = _into_box((start[0], start[1], start[2]), box), (start[3], start[4])
    admittance = cosine[0] * cosine[0] + sine[0] * sine[0]
    penalty = usual = _rate_penalty(admittance, rate, rho)
    noise = _ROUNDING * math.sqrt((rho[0] + rho[1] + rho[2] + rho[3]) * admittance)
    model, limit_f, limit_t = _line_model(square, cosine, sine, rate, target, rho, point, mu)
    share, damping, in_noise = 1.0, 0.0, False
    for _ in range(_MOST_STEPS):
        step = _newton_step(model, limit_f, limit_t, mu, penalty, _room(point, box), damping)
        along_f, along_t = _along(limit_f, step), _along(limit_t, step)
        merit = _merit(model, limit_f, limit_t, mu, penalty)
        predicted = share * (
            _along(model, step)
            + _next_multiplier(limit_f[0], mu[0], penalty) * along_f
            + _next_multiplier(limit_t[0], mu[1], penalty) * along_t
        )
        rounding = noise * math.sqrt(model[0]) + _ROUNDING * abs(merit)
        size = max(abs(step[0]), abs(step[1]), abs(step[2]))
        was_in_noise, in_noise = in_noise, abs(predicted) <= rounding
        last = size <= _LAST_STEP or (was_in_noise and in_noise)
        trial = _into_box(
            (
                point[0] + share * step[0],
                point[1] + share * step[1],
                point[2] + share * step[2],
            ),
            box,
        )
        clear = max(limit_f[0], limit_t[0]) < _CLEAR_OF_RATE
        if last and mu[0] == 0.0 and mu[1] == 0.0 and clear:
            point = trial
            break
        after, after_f, after_t = _line_model(square, cosine, sine, rate, target, rho, trial, mu)
        reached = _merit(after, after_f, after_t, mu, penalty)
        if last or in_noise or reached <= merit + _SUFFICIENT_DECREASE * predicted + rounding:
            mu = (
                mu[0] + share * (_next_multiplier(limit_f[0] + along_f, mu[0], penalty) - mu[0]),
                mu[1] + share * (_next_multiplier(limit_t[0] + along_t, mu[1], penalty) - mu[1]),
            )
            point, model, limit_f, limit_t = trial, after, after_f, after_t
            if last and _is_kept(limit_f[0], mu[0]) and _is_kept(limit_t[0], mu[1]):
                break
            if share == 1.0 and penalty < (_HIGHEST_PENALTY if size <= _NEAR else 1.0) * usual:
                penalty *= 4.0
            share, damping = 1.0, 0.0
        elif share == 1.0 and penalty > _LOWEST_PENALTY * usual:
            penalty *= 0.1
        elif share > _SMALLEST_SHARE:
            share *= 0.25
        else:
            share, damping = 1.0, max(64.0 * damping, _DAMPING * _curvature(model))
    return point[0], point[1], point[2], mu[0], mu[1]


@compiled
def line_copies(
    square: Four, cosine: Four, sine: Four, target: Eight, rho: Eight, solution: Five
) -> Eight:
    """Return the eight copies that belong to a line agent's solution."""
    v_f, v_t, delta = solution[0], solution[1], solution[2]
    c, s, vv = math.cos(delta), math.sin(delta), v_f * v_t
    scaled_gap = (delta - (target[6] - target[7])) / (rho[6] + rho[7])
    return (
        square[0] * v_f * v_f + vv * (cosine[0] * c + sine[0] * s),
        square[1] * v_f * v_f + vv * (cosine[1] * c + sine[1] * s),
        square[2] * v_t * v_t + vv * (cosine[2] * c + sine[2] * s),
        square[3] * v_t * v_t + vv * (cosine[3] * c + sine[3] * s),
        v_f * v_f,
        v_t * v_t,
        target[6] + rho[7] * scaled_gap,
        target[7] - rho[6] * scaled_gap,
    )


@compiled_inner
def _into_box(point: Three, box: Six) -> Three:
    """Return the point of the box that is nearest, variable by variable."""
    return (
        min(max(point[0], box[0]), box[1]),
        min(max(point[1], box[2]), box[3]),
        min(max(point[2], box[4]), box[5]),
    )


@compiled_inner
def _room(point: Three, box: Six) -> Six:
    """Return the limits of a step from a point within the box."""
    return (
        box[0] - point[0],
        box[1] - point[0],
        box[2] - point[1],
        box[3] - point[1],
        box[4] - point[2],
        box[5] - point[2],
    )


@compiled_inner
def _along(expansion: tuple[float, ...], step: Three) -> float:
    """Return the change along a step, to first order."""
    return expansion[1] * step[0] + expansion[2] * step[1] + expansion[3] * step[2]


@compiled_inner
def _curvature(model: Expansion) -> float:
    """Return the size of a model's curvature."""
    return abs(model[4]) + abs(model[7]) + abs(model[9])


@compiled_inner
def _rate_penalty(admittance: float, rate: float, rho: Eight) -> float:
    """Return the penalty of a violated limit: many times the penalties of the flows.

    Those of the voltages count too, with a flow of |y| p.u. to one p.u. of voltage.
    """
    if not rate < math.inf:
        return 1.0
    flows = rho[0] + rho[1] + rho[2] + rho[3]
    voltages = rho[4] + rho[5] + rho[6] + rho[7]
    return _RATE_PENALTY * 0.25 * (flows + voltages / admittance) * rate * rate


@compiled_inner
def _line_model(
    square: Four,
    cosine: Four,
    sine: Four,
    rate: float,
    target: Eight,
    rho: Eight,
    point: Three,
    mu: Two,
) -> tuple[Expansion, Four, Four]:
    """Return a line's objective with derivatives, and |S|²/rate² − 1 at both ends with gradients.

    The Hessian is that of the Lagrangian, with the multipliers μ of these limits.
    """
    v_f, v_t, delta = point
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
        return total, (-1.0, 0.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0)
    total, limit_f = _limit(total, p_f, q_f, rate, mu[0])
    total, limit_t = _limit(total, p_t, q_t, rate, mu[1])
    return total, limit_f, limit_t


@compiled_inner
def _voltages(target: Eight, rho: Eight, v_f: float, v_t: float, delta: float) -> Expansion:
    """Return the part of a line's objective that depends on voltages alone."""
    w_f, w_t = v_f * v_f - target[4], v_t * v_t - target[5]
    angle_gap = delta - (target[6] - target[7])
    stiffness = rho[6] * rho[7] / (rho[6] + rho[7])
    return (
        0.5 * (rho[4] * w_f * w_f + rho[5] * w_t * w_t + stiffness * angle_gap * angle_gap),
        2.0 * rho[4] * w_f * v_f,
        2.0 * rho[5] * w_t * v_t,
        stiffness * angle_gap,
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
def _limit(
    total: Expansion, p: Expansion, q: Expansion, rate: float, multiplier: float
) -> tuple[Expansion, Four]:
    """Return the objective with a limit's Hessian added, and |S|²/rate² − 1 with its gradient."""
    share = 1.0 / (rate * rate)
    a, b = 2.0 * share * p[0], 2.0 * share * q[0]
    limit = (
        share * (p[0] * p[0] + q[0] * q[0]) - 1.0,
        a * p[1] + b * q[1],
        a * p[2] + b * q[2],
        a * p[3] + b * q[3],
    )
    if multiplier == 0.0:
        return total, limit
    curvature = 2.0 * share * multiplier
    total = _add_hessian(total, p, curvature, multiplier * a)
    return _add_hessian(total, q, curvature, multiplier * b), limit


@compiled_inner
def _add_hessian(total: Expansion, inner: Expansion, curvature: float, slope: float) -> Expansion:
    """Add the second derivatives alone of a function of one inner quantity."""
    value, g0, g1, g2 = total[0], total[1], total[2], total[3]
    total = _add(total, inner, 0.0, slope, curvature)
    return value, g0, g1, g2, total[4], total[5], total[6], total[7], total[8], total[9]


@compiled_inner
def _next_multiplier(excess: float, multiplier: float, penalty: float) -> float:
    """Return the next multiplier of a limit, by the method of multipliers."""
    return max(multiplier + penalty * excess, 0.0)


@compiled_inner
def _is_kept(excess: float, multiplier: float) -> bool:
    """Whether a limit is kept, and has a multiplier only where it is active."""
    return abs(excess) <= _RATE_TOLERANCE or (excess < 0.0 and multiplier == 0.0)


@compiled_inner
def _merit(model: Expansion, limit_f: Four, limit_t: Four, mu: Two, penalty: float) -> float:
    """Return the augmented Lagrangian."""
    return model[0] + _limit_term(limit_f, mu[0], penalty) + _limit_term(limit_t, mu[1], penalty)


@compiled_inner
def _limit_term(limit: Four, multiplier: float, penalty: float) -> float:
    """Return the term of a limit in the augmented Lagrangian."""
    following = _next_multiplier(limit[0], multiplier, penalty)
    return (following * following - multiplier * multiplier) / (2.0 * penalty)


@compiled_inner
def _with_active_limits(
    model: Expansion,
    limit_f: Four,
    limit_t: Four,
    mu: Two,
    penalty: float,
    active_f: bool,
    active_t: bool,
) -> Expansion:
    """Return a model with the terms of its active limits added."""
    if active_f:
        model = _with_limit(model, limit_f, mu[0], penalty)
    if active_t:
        model = _with_limit(model, limit_t, mu[1], penalty)
    return model


@compiled_inner
def _with_limit(model: Expansion, limit: Four, multiplier: float, penalty: float) -> Expansion:
    """Return a model with the term of an active limit added."""
    force = multiplier + penalty * limit[0]
    _, a, b, d = limit
    return (
        model[0],
        model[1] + force * a,
        model[2] + force * b,
        model[3] + force * d,
        model[4] + penalty * a * a,
        model[5] + penalty * a * b,
        model[6] + penalty * a * d,
        model[7] + penalty * b * b,
        model[8] + penalty * b * d,
        model[9] + penalty * d * d,
    )


@compiled_inner
def _newton_step(
    model: Expansion,
    limit_f: Four,
    limit_t: Four,
    mu: Two,
    penalty: float,
    room: Six,
    damping: float,
) -> Three:
    """Return the step to the minimum of the model within its limits, by an active-set method.

    The variable that would leave the box first is fixed at its limit, and the others are minimised
    again; it is released where its gradient points into the box. A thermal limit is active where
    the step would violate it. A model without a minimum is damped further, from `damping` on.
    """
    active_f, active_t = mu[0] + penalty * limit_f[0] > 0.0, mu[1] + penalty * limit_t[0] > 0.0
    whole = _with_active_limits(model, limit_f, limit_t, mu, penalty, active_f, active_t)
    fix_a = fix_b = fix_d = False
    to_a = to_b = to_d = a = b = d = 0.0
    least = damping
    for _ in range(_MOST_CHANGES):
        convex, a, b, d = _minimum(whole, (fix_a, fix_b, fix_d), (to_a, to_b, to_d), damping)
        if not convex:
            damping = max(8.0 * damping, _FIRST_DAMPING * _curvature(model))
            continue
        share_a = _share(a, room[0], room[1])
        share_b = _share(b, room[2], room[3])
        share_d = _share(d, room[4], room[5])
        first = min(share_a, share_b, share_d)
        if first < 1.0:
            if share_a == first:
                fix_a, to_a = True, min(max(a, room[0]), room[1])
            elif share_b == first:
                fix_b, to_b = True, min(max(b, room[2]), room[3])
            else:
                fix_d, to_d = True, min(max(d, room[4]), room[5])
            continue
        if fix_a and _points_inwards(
            whole[1] + whole[4] * a + whole[5] * b + whole[6] * d, to_a, room[0], room[1]
        ):
            fix_a, to_a = False, 0.0
            continue
        if fix_b and _points_inwards(
            whole[2] + whole[5] * a + whole[7] * b + whole[8] * d, to_b, room[2], room[3]
        ):
            fix_b, to_b = False, 0.0
            continue
        if fix_d and _points_inwards(
            whole[3] + whole[6] * a + whole[8] * b + whole[9] * d, to_d, room[4], room[5]
        ):
            fix_d, to_d = False, 0.0
            continue
        violates_f = mu[0] + penalty * (limit_f[0] + _along(limit_f, (a, b, d))) > 0.0
        violates_t = mu[1] + penalty * (limit_t[0] + _along(limit_t, (a, b, d))) > 0.0
        if violates_f == active_f and violates_t == active_t:
            if damping > least:  # the model in the free variables may be convex without it
                plain, f, t, e = _minimum(whole, (fix_a, fix_b, fix_d), (to_a, to_b, to_d), least)
                inside = room[0] <= f <= room[1] and room[2] <= t <= room[3]
                if plain and inside and room[4] <= e <= room[5]:
                    a, b, d = f, t, e
            break
        active_f, active_t = violates_f, violates_t
        whole = _with_active_limits(model, limit_f, limit_t, mu, penalty, active_f, active_t)
        fix_a = fix_b = fix_d = False
        to_a = to_b = to_d = 0.0
    return a, b, d


@compiled_inner
def _share(step: float, low: float, high: float) -> float:
    """Return the share of a step that stays within limits, 1 at most."""
    if step < low:
        return low / step
    return high / step if step > high else 1.0


@compiled_inner
def _points_inwards(slope: float, to: float, low: float, high: float) -> bool:
    """Whether the objective falls from a variable's limit into the box."""
    return low < high and (slope > 0.0 if to >= high else slope < 0.0)


@compiled_inner
def _minimum(
    model: Expansion, fixed: tuple[bool, bool, bool], to: Three, damping: float
) -> tuple[bool, float, float, float]:
    """Return whether the model is convex, and its minimum with some variables fixed."""
    _, g0, g1, g2, h00, h01, h02, h11, h12, h22 = model
    g0 += h01 * to[1] + h02 * to[2]
    g1 += h01 * to[0] + h12 * to[2]
    g2 += h02 * to[0] + h12 * to[1]
    if fixed[0]:
        g0, h00, h01, h02 = -to[0], 1.0, 0.0, 0.0
    if fixed[1]:
        g1, h01, h11, h12 = -to[1], 0.0, 1.0, 0.0
    if fixed[2]:
        g2, h02, h12, h22 = -to[2], 0.0, 0.0, 1.0
    tiny = 1e-14 * (abs(h00) + abs(h11) + abs(h22))
    d0 = h00 + (0.0 if fixed[0] else damping)
    if d0 <= tiny:
        return False, 0.0, 0.0, 0.0
    l10, l20 = h01 / d0, h02 / d0
    d1 = h11 + (0.0 if fixed[1] else damping) - l10 * h01
    if d1 <= tiny:
        return False, 0.0, 0.0, 0.0
    l21 = (h12 - l20 * h01) / d1
    d2 = h22 + (0.0 if fixed[2] else damping) - l20 * h02 - l21 * (h12 - l20 * h01)
    if d2 <= tiny:
        return False, 0.0, 0.0, 0.0
    y1 = -g1 + l10 * g0
    step2 = (-g2 + l20 * g0 - l21 * y1) / d2
    step1 = y1 / d1 - l21 * step2
    return True, -g0 / d0 - l10 * step1 - l20 * step2, step1, step2
