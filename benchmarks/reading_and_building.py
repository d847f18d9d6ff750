"""How long it takes to read a large case, and to build its program compared with solving it.

Run: .venv/bin/python -m benchmarks.reading_and_building   (about three minutes)

Two baselines run beside ours: splitting the file's text into words and turning those into floats,
which any reader has to do; and CasADi's symbolic build of the same program.
"""

import re
import sys
import time
from collections.abc import Callable

import casadi
import numpy as np

from benchmarks.report import write_table
from gridveil import Network, load_case, solve_acopf
from gridveil.network.library import find_case

READING = "case30000_goc"
READING_LIMIT = 1.5
BUILDING = "case9241_pegase"
BUILDING_LIMIT = 0.5
SYMBOLIC = "case1354_pegase"


def main() -> int:
    path = find_case(READING)
    floats = _best(lambda: _floats(path.read_text(encoding="utf-8")))
    reading = _best(lambda: load_case(path))
    result = solve_acopf(load_case(BUILDING))
    ratio = result.build_seconds / result.solve_seconds
    small = load_case(SYMBOLIC)
    ours = _best(lambda: solve_acopf(small, watch=lambda _: False).build_seconds, timed=False)
    symbolic = _best(lambda: _casadi_build(small), repeats=1)
    rows = [
        (f"read {READING}", f"{reading:.2f} s", f"at most {READING_LIMIT} s"),
        ("… words to floats alone", f"{floats:.2f} s", f"ours takes {reading / floats:.1f} ×"),
        (f"build {BUILDING}", f"{result.build_seconds:.4f} s", ""),
        (f"solve {BUILDING}", f"{result.solve_seconds:.1f} s", result.status.name.lower()),
        ("build / solve", f"{ratio:.5f}", f"at most {BUILDING_LIMIT}"),
        (f"build {SYMBOLIC}", f"{ours:.4f} s", ""),
        ("… CasADi, symbolically", f"{symbolic:.2f} s", f"{symbolic / ours:,.0f} × ours"),
    ]
    for row in rows:
        print("{:32} {:>10}  {}".format(*row))
    intro = "Reading a case, and building its program compared with solving it."
    write_table("reading_and_building", intro, ("what", "measured", "note"), rows)
    return int(reading > READING_LIMIT or ratio > BUILDING_LIMIT)


def _floats(text: str) -> list[float]:
    bodies = re.findall(r"\[([^\]]*)\]", re.sub("%.*", "", text))
    return [float(word) for body in bodies for word in body.replace(";", " ").split()]


def _best(work: Callable[[], object], repeats: int = 5, timed: bool = True) -> float:
    """Return the least of several runs: its time, or what it returns."""
    results = []
    for _ in range(repeats):
        started = time.perf_counter()
        value = work()
        results.append(time.perf_counter() - started if timed else float(value))  # type: ignore[arg-type]
    return min(results)


def _casadi_build(network: Network) -> object:
    """Build the same program symbolically, down to CasADi's Ipopt solver object."""
    n, lines, gens = len(network.buses), network.lines, network.generators
    theta, v = casadi.SX.sym("theta", n), casadi.SX.sym("v", n)
    p, q = casadi.SX.sym("p", len(gens)), casadi.SX.sym("q", len(gens))
    delta = theta[lines.from_bus.tolist()] - theta[lines.to_bus.tolist()]
    v_from, v_to = v[lines.from_bus.tolist()], v[lines.to_bus.tolist()]
    cos, sin = casadi.cos(delta), casadi.sin(delta)
    ff, ft, tf, tt = lines.y_ff, lines.y_ft, lines.y_tf, lines.y_tt
    flows = [
        ff.real * v_from**2 + v_from * v_to * (ft.real * cos + ft.imag * sin),
        -ff.imag * v_from**2 + v_from * v_to * (ft.real * sin - ft.imag * cos),
        tt.real * v_to**2 + v_from * v_to * (tf.real * cos - tf.imag * sin),
        -tt.imag * v_to**2 - v_from * v_to * (tf.real * sin + tf.imag * cos),
    ]

    def incidence(at: np.ndarray) -> casadi.DM:
        return casadi.DM(
            casadi.Sparsity.triplet(n, len(at), at.tolist(), list(range(len(at)))), 1.0
        )

    at_from, at_to, at_gen = (incidence(a) for a in (lines.from_bus, lines.to_bus, gens.bus))
    balance_p = at_from @ flows[0] + at_to @ flows[2] + network.buses.shunt_g * v**2 - at_gen @ p
    balance_q = at_from @ flows[1] + at_to @ flows[3] - network.buses.shunt_b * v**2 - at_gen @ q
    squares = casadi.vertcat(flows[0] ** 2 + flows[1] ** 2, flows[2] ** 2 + flows[3] ** 2)
    cost = sum(casadi.dot(gens.costs.coefficients[:, k], p**k) for k in range(3))
    program = {
        "x": casadi.vertcat(theta, v, p, q),
        "f": cost,
        "g": casadi.vertcat(balance_p, balance_q, squares, delta),
    }
    return casadi.nlpsol("solver", "ipopt", program, {"ipopt.print_level": 0, "print_time": False})


if __name__ == "__main__":
    sys.exit(main())
