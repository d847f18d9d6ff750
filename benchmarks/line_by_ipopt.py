"""The paper's way to solve a line agent: the whole of Model 4 handed to Ipopt, through CasADi."""

import casadi
import numpy as np

from gridveil.arrays import FloatArray

_OPTIONS = {
    "print_time": False,
    "ipopt": {
        "print_level": 0,
        "sb": "yes",
        "tol": 1e-10,
        "bound_relax_factor": 0.0,
        "honor_original_bounds": "yes",
    },
}


class LineByIpopt:
    """Model 4 in v and θ of both ends, with complex power from the π-model; no formula of ours.

    The parameters are (r, x, b, tap, shift, rate), then the targets, then the penalties.
    """

    def __init__(self) -> None:
        v_f, v_t, a_f, a_t = (casadi.SX.sym(name) for name in ("v_f", "v_t", "a_f", "a_t"))
        line, target, rho = casadi.SX.sym("line", 6), casadi.SX.sym("t", 8), casadi.SX.sym("r", 8)
        self.variables = casadi.vertcat(v_f, v_t, a_f, a_t)
        self.parameters = casadi.vertcat(line, target, rho)
        p_f, q_f, p_t, q_t = _powers(line, v_f, v_t, a_f, a_t)
        copies = casadi.vertcat(p_f, q_f, p_t, q_t, v_f**2, v_t**2, a_f, a_t)
        rate2 = line[5] ** 2
        self.objective = 0.5 * casadi.dot(rho, (copies - target) ** 2)
        self.constraints = casadi.vertcat(
            a_f - a_t, (p_f**2 + q_f**2) / rate2, (p_t**2 + q_t**2) / rate2
        )
        problem = {
            "x": self.variables,
            "p": self.parameters,
            "f": self.objective,
            "g": self.constraints,
        }
        self._solver = casadi.nlpsol("line", "ipopt", problem, _OPTIONS)

    def solve(
        self, parameters: FloatArray, box: FloatArray, start: FloatArray
    ) -> tuple[FloatArray, float, bool]:
        """Return (v_f, v_t, θ_f, θ_t), the objective, and whether Ipopt was satisfied."""
        result = self._solver(
            x0=start,
            p=parameters,
            lbx=[box[0], box[2], -np.inf, -np.inf],
            ubx=[box[1], box[3], np.inf, np.inf],
            lbg=[box[4], -np.inf, -np.inf],
            ubg=[box[5], 1.0, 1.0],
        )
        solved = bool(self._solver.stats()["success"])
        return np.array(result["x"]).ravel(), float(result["f"]), solved


def _powers(
    line: casadi.SX, v_f: casadi.SX, v_t: casadi.SX, a_f: casadi.SX, a_t: casadi.SX
) -> tuple[casadi.SX, casadi.SX, casadi.SX, casadi.SX]:
    """Return the powers into a line: an ideal transformer τ∠φ, then a π of y and jb/2."""
    r, x, b, tap, shift = (line[i] for i in range(5))
    inner = v_f / tap, a_f - shift  # behind the transformer
    g, s = r / (r**2 + x**2), -x / (r**2 + x**2)

    def into(end: tuple[casadi.SX, casadi.SX], other: tuple[casadi.SX, casadi.SX]) -> casadi.SX:
        e, f = end[0] * casadi.cos(end[1]), end[0] * casadi.sin(end[1])
        drop_e = e - other[0] * casadi.cos(other[1])
        drop_f = f - other[0] * casadi.sin(other[1])
        i_e, i_f = g * drop_e - s * drop_f - b / 2 * f, g * drop_f + s * drop_e + b / 2 * e
        return e * i_e + f * i_f, f * i_e - e * i_f

    return (*into(inner, (v_t, a_t)), *into((v_t, a_t), inner))
