"""P_RBL as a program of the solvers, for one problem or for a batch of them.

The program of central.py has the loads as variables beside voltages and dispatch. Problems of one
network differ in costs, which hold the noisy loads and their weights, and in bounds, which hold the
bands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.fidelity.bands import Band
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.program import NetworkProgram, ProgramBuilder
from gridveil.opf.start import starting_point

_CUT_PRICE = 1e3
"""Cost of missing a cut by 1 p.u. of the dearest load, relative to the median weight: more than any
displacement saves."""


@dataclass(frozen=True)
class Cut:
    """A half-space of loads: p·active + q·reactive ≥ least, or as near to it as can be."""

    active: FloatArray
    reactive: FloatArray
    least: float

    def excess(self, p: FloatArray, q: FloatArray) -> float:
        """Return how far loads are inside it; below 0 if outside."""
        return float(self.active @ p + self.reactive @ q) - self.least


@dataclass(frozen=True)
class Sought:
    """The loads to come near to, and what generators are held to."""

    noisy: FloatArray
    """S̃, of shape (loads, 2), in p.u."""
    weights: FloatArray
    bands: Sequence[Band]
    total: tuple[float, float] | None
    """The band of the total cost, if there is one."""

    @property
    def hulls(self) -> FloatArray:
        """The hull of every band, of shape (generators, 2)."""
        return np.array([band.hull for band in self.bands])


@dataclass(frozen=True)
class RestoringProgram:
    """The program of one problem, and where its parts are."""

    builder: ProgramBuilder
    program: NetworkProgram
    p_load: IntArray
    q_load: IntArray
    total_row: IntArray
    """The row that bounds the total cost, if there is one."""

    @classmethod
    def of(
        cls,
        network: Network,
        sought: Sought,
        outputs: FloatArray,
        cuts: Sequence[Cut] = (),
        limits: LoadLimits | None = None,
    ) -> "RestoringProgram":
        """Build the program with outputs held to intervals, of shape (generators, 2)."""
        gens, none = network.generators, np.zeros(len(network.buses))
        noisy, weights = sought.noisy, sought.weights
        builder = ProgramBuilder(network, none, none)
        builder.add_dispatch(outputs[:, 0], outputs[:, 1], gens.q_min, gens.q_max)
        p_min, free = _p_min(limits, len(noisy)), np.full(len(noisy), -np.inf)
        bus, (p_costs, q_costs) = network.loads.bus, _load_costs(noisy, weights)
        p_load = _add_loads(builder, builder.active[bus], p_costs, p_min)
        q_load = _add_loads(builder, builder.reactive[bus], q_costs, free)
        if limits is not None and limits.power_factor is not None:
            _add_power_factors(builder, limits, p_load, q_load)
        total_row = np.zeros(0, np.int64)
        if sought.total is not None:
            low, high = sought.total
            total_row = builder.add_rows(np.array([low]), np.array([high]))
            builder.set_polynomial_terms(
                np.repeat(total_row, len(gens)), builder.p, gens.costs.coefficients
            )
        for cut in cuts:
            _add_cut(builder, cut, p_load, q_load, _CUT_PRICE * float(np.median(weights)))
        return cls(builder, builder.build(), p_load, q_load, total_row)

    def batch(self, sought: Sequence[Sought], outputs: FloatArray) -> NetworkProgram:
        """Return the programs of many problems that differ in noise, weights and bands.

        Args:
            sought: Each problem.
            outputs: The intervals of each, of shape (problems, generators, 2).
        """
        count, program = len(sought), self.program
        costs = np.repeat(program.costs[:, None], count, axis=1)
        noisy, weights = np.stack([s.noisy for s in sought]), np.stack([s.weights for s in sought])
        costs[:3, :, self.p_load], costs[:3, :, self.q_load] = _load_costs(noisy, weights)
        bounds: dict[str, Any] = {
            name: np.repeat(getattr(program, name)[None], count, axis=0)
            for name in ("x_min", "x_max", "g_min", "g_max")
        }
        bounds["x_min"][:, self.builder.p] = outputs[..., 0]
        bounds["x_max"][:, self.builder.p] = outputs[..., 1]
        if len(self.total_row):
            total = np.array([of.total for of in sought])
            bounds["g_min"][:, self.total_row] = total[:, :1]
            bounds["g_max"][:, self.total_row] = total[:, 1:]
        return replace(program, costs=costs, **bounds)

    def start(self, loads: FloatArray, point: OperatingPoint) -> FloatArray:
        """Return variables at loads, of shape (loads, 2), and at an operating point."""
        x = self.builder.start(self.program, point)
        x[self.p_load], x[self.q_load] = loads.T
        return x

    def starts(self, network: Network, sought: Sequence[Sought], outputs: FloatArray) -> FloatArray:
        """Return where the solver starts if nothing is known, outputs in the middle of intervals.

        Args:
            network: The network.
            sought: Each problem.
            outputs: The intervals of each, of shape (problems, generators, 2).
        """
        first = self.start(sought[0].noisy, starting_point(network, len(sought)))
        x = np.repeat(first[None], len(sought), axis=0)
        bounded = np.isfinite(outputs).all(axis=-1)
        low, high = outputs[..., 0], outputs[..., 1]
        middle = np.clip(0.0, low, high)
        middle[bounded] = (low[bounded] + high[bounded]) / 2
        x[:, self.builder.p] = middle
        x[:, self.p_load] = [of.noisy[:, 0] for of in sought]
        x[:, self.q_load] = [of.noisy[:, 1] for of in sought]
        return x


def _load_costs(noisy: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of w (x − x̃)² for P and for Q, of shape (3, …, loads)."""
    p, q = (
        np.stack([weights * (part**2), weights * (-2 * part), weights * np.ones_like(part)])
        for part in (noisy[..., 0], noisy[..., 1])
    )
    return p, q


def _add_loads(
    builder: ProgramBuilder, rows: IntArray, costs: FloatArray, least: FloatArray
) -> IntArray:
    """Add loads as variables to the balance of their buses, with their costs."""
    loads = builder.add_variables(least, np.full(len(rows), np.inf), costs.T)
    builder.add_entries(rows, loads, 1.0)
    return loads


def _p_min(limits: LoadLimits | None, loads: int) -> FloatArray:
    """Return the least P of every load, where no power factor says as much."""
    if limits is None or limits.power_factor is not None:
        return np.full(loads, -np.inf)
    return limits.p_min


def _add_power_factors(
    builder: ProgramBuilder, limits: LoadLimits, p_load: IntArray, q_load: IntArray
) -> None:
    """Add slope·P − Q ≥ 0 and slope·P + Q ≥ 0 as rows for every consumer; P ≥ 0 follows."""
    p, q = p_load[limits.consumers], q_load[limits.consumers]
    for sign in (-1.0, 1.0):
        rows = builder.add_rows(np.zeros(len(p)), np.full(len(p), np.inf))
        builder.add_entries(rows, p, limits.slope)
        builder.add_entries(rows, q, sign)


def _add_cut(
    builder: ProgramBuilder, cut: Cut, p_load: IntArray, q_load: IntArray, price: float
) -> None:
    """Add a cut as a row that can be missed, at a price for each p.u. of the dearest load."""
    scale = max(np.abs(cut.active).max(initial=0.0), np.abs(cut.reactive).max(initial=0.0), 1e-12)
    row = builder.add_rows(np.array([cut.least / scale]), np.array([np.inf]))
    builder.add_entries(np.repeat(row, len(p_load)), p_load, cut.active / scale)
    builder.add_entries(np.repeat(row, len(q_load)), q_load, cut.reactive / scale)
    missed = builder.add_variables(np.zeros(1), np.full(1, np.inf), np.array([[0.0, price]]))
    builder.add_entries(row, missed, 1.0)
