"""The four agents, each a small problem solved on its own: the paper's Models 2 to 5.

An agent holds copies x of what it shares with its buses. Each copy has a target t = z − λ/ρ, from
the bus's copy z, the multiplier λ and the penalty ρ; the agent stays as close to its targets (in
the metric of ρ) as its own constraints allow. Voltages are shared as w = v² and the angle θ.

The functions take and return numbers and tuples of numbers only. So they compile for a CPU and for
a GPU alike, and whoever owns some of the agents can call them for those alone.
"""

import math

from gridveil.admm.compiled import compiled, compiled_inner

Three = tuple[float, float, float]
Four = tuple[float, float, float, float]
Five = tuple[float, float, float, float, float]
Six = tuple[float, float, float, float, float, float]
Eight = tuple[float, float, float, float, float, float, float, float]
"""What a line shares: p and q at its from and its to end, w at both, θ at both."""
Expansion = tuple[float, float, float, float, float, float, float, float, float, float]
"""A value, its gradient, and the upper half of its Hessian row by row, in (v_f, v_t, δ)."""

_LAST_STEP = 1e-8
"""A Newton step this small is the last: what it leaves is of the order of its square."""
_ROUNDING = 2e-16
_MOST_STEPS = 100
_MOST_CHANGES = 40
"""Of what is at a limit, within a step."""
_ENOUGH = 1e-4
"""The part of what a step promises that it must keep."""
_LEAST_SHARE, _DAMPING = 0.01, 1e-3
"""A step that fails even when cut to this share is damped by this, relative to the curvature."""
_LEAST_DAMPING = 1e-9
"""First tried where a model has no minimum, relative to the curvature."""
_RATE_TOLERANCE = 1e-11
"""How far |S|²/rate² may be above 1."""
_RATE_PENALTY = 20.0
"""Usual weight of a broken limit, relative to that of the flows."""
_LEAST_WEIGHT, _MOST_WEIGHT = 0.02, 1e4
"""How much less it may be while steps fail, and more once they are shorter than _NEAR."""
_NEAR = 1e-4
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
    proportion to its penalty. So this is a problem of three variables in a box with two thermal
    limits, solved by Newton steps from the last solution. A step keeps the box, and the limits to
    first order; an augmented Lagrangian tells whether it is any good.

    `square`, `cosine`, `sine` are the line's flow coefficients (see network/flows.py), `box` limits
    v_f, v_t and δ, `start` is the last (v_f, v_t, δ, μ_f, μ_t), with the multipliers μ of
    |S|²/rate² ≤ 1 at both ends. The result is such a tuple again.
    """
    v_f = min(max(start[0], box[0]), box[1])
    v_t = min(max(start[1], box[2]), box[3])
    delta = min(max(start[2], box[4]), box[5])
    mu_f, mu_t = start[3], start[4]
    admittance = cosine[0] * cosine[0] + sine[0] * sine[0]
    penalty = usual = _rate_penalty(admittance, rate, rho)
    noise = _ROUNDING * math.sqrt((rho[0] + rho[1] + rho[2] + rho[3]) * admittance)
    model, limit_f, limit_t = _line_model(
        square, cosine, sine, rate, target, rho, v_f, v_t, delta, mu_f, mu_t
    )
    share, damping, is_lost = 1.0, 0.0, False
    for _ in range(_MOST_STEPS):
        a, b, d = _newton_step(
            model,
            limit_f,
            limit_t,
            mu_f,
            mu_t,
            penalty,
            (
                box[0] - v_f,
                box[1] - v_f,
                box[2] - v_t,
                box[3] - v_t,
                box[4] - delta,
                box[5] - delta,
            ),
            damping,
        )
        merit = model[0] + _price(limit_f, mu_f, penalty) + _price(limit_t, mu_t, penalty)
        along_f = limit_f[1] * a + limit_f[2] * b + limit_f[3] * d
        along_t = limit_t[1] * a + limit_t[2] * b + limit_t[3] * d
        promised = share * (
            model[1] * a
            + model[2] * b
            + model[3] * d
            + _pushed(limit_f[0], mu_f, penalty) * along_f
            + _pushed(limit_t[0], mu_t, penalty) * along_t
        )
        rounding = noise * math.sqrt(model[0]) + _ROUNDING * abs(merit)
        size = max(abs(a), abs(b), abs(d))
        was_lost, is_lost = is_lost, abs(promised) <= rounding  # in what the objective cannot show
        last = size <= _LAST_STEP or (was_lost and is_lost)
        a = min(max(v_f + share * a, box[0]), box[1])
        b = min(max(v_t + share * b, box[2]), box[3])
        d = min(max(delta + share * d, box[4]), box[5])
        clear = max(limit_f[0], limit_t[0]) < _CLEAR_OF_RATE
        if last and mu_f == 0.0 and mu_t == 0.0 and clear:
            v_f, v_t, delta = a, b, d
            break
        after, after_f, after_t = _line_model(
            square, cosine, sine, rate, target, rho, a, b, d, mu_f, mu_t
        )
        reached = after[0] + _price(after_f, mu_f, penalty) + _price(after_t, mu_t, penalty)
        if last or is_lost or reached <= merit + _ENOUGH * promised + rounding:
            mu_f += share * (_pushed(limit_f[0] + along_f, mu_f, penalty) - mu_f)
            mu_t += share * (_pushed(limit_t[0] + along_t, mu_t, penalty) - mu_t)
            v_f, v_t, delta, model, limit_f, limit_t = a, b, d, after, after_f, after_t
            if last and _is_kept(limit_f[0], mu_f) and _is_kept(limit_t[0], mu_t):
                break
            if share == 1.0 and penalty < (_MOST_WEIGHT if size <= _NEAR else 1.0) * usual:
                penalty *= 4.0
            share, damping = 1.0, 0.0
        elif share == 1.0 and penalty > _LEAST_WEIGHT * usual:
            penalty *= 0.1
        elif share > _LEAST_SHARE:
            share *= 0.25
        else:
            scale = abs(model[4]) + abs(model[7]) + abs(model[9])
            share, damping = 1.0, max(64.0 * damping, _DAMPING * scale)
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
def _rate_penalty(admittance: float, rate: float, rho: Eight) -> float:
    """Return the weight of a broken limit: many times what holds the flows to their targets.

    Voltages hold them too, by |y|² p.u. of flow squared to one of voltage squared.
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
    v_f: float,
    v_t: float,
    delta: float,
    mu_f: float,
    mu_t: float,
) -> tuple[Expansion, Four, Four]:
    """Return a line's objective with derivatives, and |S|²/rate² − 1 at both ends with slopes.

    The multipliers μ of these limits bend the objective: its Hessian is that of the Lagrangian.
    """
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
    total, limit_f = _limit(total, p_f, q_f, rate, mu_f)
    total, limit_t = _limit(total, p_t, q_t, rate, mu_t)
    return total, limit_f, limit_t


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
def _limit(
    total: Expansion, p: Expansion, q: Expansion, rate: float, multiplier: float
) -> tuple[Expansion, Four]:
    """Return the objective bent by a limit, and |S|²/rate² − 1 with its slopes."""
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
    bend = 2.0 * share * multiplier
    total = _bent(total, p, bend, multiplier * a)
    return _bent(total, q, bend, multiplier * b), limit


@compiled_inner
def _bent(total: Expansion, inner: Expansion, curvature: float, slope: float) -> Expansion:
    """Add the second derivatives of a function of one inner quantity."""
    value, g0, g1, g2 = total[0], total[1], total[2], total[3]
    total = _add(total, inner, 0.0, slope, curvature)
    return value, g0, g1, g2, total[4], total[5], total[6], total[7], total[8], total[9]


@compiled_inner
def _pushed(excess: float, multiplier: float, penalty: float) -> float:
    """Return the new multiplier of a limit, which is also its force."""
    return max(multiplier + penalty * excess, 0.0)


@compiled_inner
def _is_kept(excess: float, multiplier: float) -> bool:
    """Whether a limit is kept, and has a multiplier only where it is met."""
    return abs(excess) <= _RATE_TOLERANCE or (excess < 0.0 and multiplier == 0.0)


@compiled_inner
def _price(limit: Four, multiplier: float, penalty: float) -> float:
    """Return what a limit adds to the augmented Lagrangian."""
    force = _pushed(limit[0], multiplier, penalty)
    return (force * force - multiplier * multiplier) / (2.0 * penalty)


@compiled_inner
def _pressed(model: Expansion, limit: Four, multiplier: float, penalty: float) -> Expansion:
    """Add a limit in force to a model."""
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
    mu_f: float,
    mu_t: float,
    penalty: float,
    room: Six,
    least: float,
) -> Three:
    """Return the step to the minimum of the model within the limits, and the room in the box.

    The variable that would leave the box first goes to its limit, and the others make the best of
    it; it comes back where it would rather. A thermal limit is in force where the step would break
    it. Where the model has no minimum it is made steeper, by `least` at least.
    """
    on_f, on_t = mu_f + penalty * limit_f[0] > 0.0, mu_t + penalty * limit_t[0] > 0.0
    whole = model
    if on_f:
        whole = _pressed(whole, limit_f, mu_f, penalty)
    if on_t:
        whole = _pressed(whole, limit_t, mu_t, penalty)
    fix_a = fix_b = fix_d = False
    to_a = to_b = to_d = a = b = d = 0.0
    damping = least
    for _ in range(_MOST_CHANGES):
        definite, a, b, d = _solve(whole, (fix_a, fix_b, fix_d), (to_a, to_b, to_d), damping)
        if not definite:
            scale = abs(model[4]) + abs(model[7]) + abs(model[9])
            damping = max(8.0 * damping, _LEAST_DAMPING * scale)
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
        if fix_a and _is_kept_wrongly(
            whole[1] + whole[4] * a + whole[5] * b + whole[6] * d, to_a, room[0], room[1]
        ):
            fix_a, to_a = False, 0.0
            continue
        if fix_b and _is_kept_wrongly(
            whole[2] + whole[5] * a + whole[7] * b + whole[8] * d, to_b, room[2], room[3]
        ):
            fix_b, to_b = False, 0.0
            continue
        if fix_d and _is_kept_wrongly(
            whole[3] + whole[6] * a + whole[8] * b + whole[9] * d, to_d, room[4], room[5]
        ):
            fix_d, to_d = False, 0.0
            continue
        along_f = limit_f[1] * a + limit_f[2] * b + limit_f[3] * d
        along_t = limit_t[1] * a + limit_t[2] * b + limit_t[3] * d
        breaks_f = mu_f + penalty * (limit_f[0] + along_f) > 0.0
        breaks_t = mu_t + penalty * (limit_t[0] + along_t) > 0.0
        if breaks_f == on_f and breaks_t == on_t:
            if damping > least:  # what is left to move may be convex without it
                plain, f, t, e = _solve(whole, (fix_a, fix_b, fix_d), (to_a, to_b, to_d), least)
                inside = room[0] <= f <= room[1] and room[2] <= t <= room[3]
                if plain and inside and room[4] <= e <= room[5]:
                    a, b, d = f, t, e
            break
        on_f, on_t, whole = breaks_f, breaks_t, model
        if on_f:
            whole = _pressed(whole, limit_f, mu_f, penalty)
        if on_t:
            whole = _pressed(whole, limit_t, mu_t, penalty)
        fix_a = fix_b = fix_d = False
        to_a = to_b = to_d = 0.0
    return a, b, d


@compiled_inner
def _share(step: float, below: float, above: float) -> float:
    """Return how much of a step there is room for, 1 at most."""
    if step < below:
        return below / step
    return above / step if step > above else 1.0


@compiled_inner
def _is_kept_wrongly(slope: float, to: float, below: float, above: float) -> bool:
    """Whether a variable that was put to a limit would rather leave it, into the box."""
    return below < above and (slope > 0.0 if to >= above else slope < 0.0)


@compiled_inner
def _solve(
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
