"""How well every sampler's draws fit the distribution its proof needs.

Run: .venv/bin/python -m benchmarks.goodness_of_fit   (10⁶ draws of each; about two minutes)

The suite runs the same tests on fewer draws. Small scales are held against the exact probabilities
of single points, real scales against the continuous distribution they approach.
"""

import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import stats

from benchmarks.report import write_table
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace, planar_laplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.mechanisms.relative_laplace import DEFAULT_FLOOR, RelativeLaplace
from gridveil.privacy.sampling.exact import discrete_laplace
from gridveil.privacy.sampling.grid import to_grid

DRAWS = 1_000_000
THRESHOLD = 1e-6
"""A fit this bad comes by chance once in a million runs."""
SMALL = 2.5
EPSILON, ALPHA = 1.0, 0.1
BOUNDS = PublicBounds(np.array([[0.0, -1.0]]), np.array([[1.0, 2.0]]), "chosen for this test")


def p_values(draws: int) -> Iterator[tuple[str, float]]:
    """Yield the name and p-value of every test."""
    yield from _polar(draws)
    yield from _product(draws)
    yield from _relative(draws)
    for kind in ("sound", "paper"):
        yield from _piecewise(draws, Piecewise.of(EPSILON, ALPHA, BOUNDS, kind))


def _polar(draws: int) -> Iterator[tuple[str, float]]:
    for name, margin in (("", {}), (", all decided exactly", {"margin": 1.0})):
        z = planar_laplace(draws if not margin else draws // 20, SMALL, **margin)
        yield f"polar exact, single points{name}", chi_square(z, lambda x, y: np.hypot(x, y))
    mechanism = PolarLaplace.of(EPSILON, ALPHA)
    for name, noise in _noise(mechanism, draws, seed=1):
        yield f"polar {name}, radius", _ks(np.hypot(*noise.T), stats.gamma(2).cdf)
        angle = np.arctan2(noise[:, 1], noise[:, 0])
        yield f"polar {name}, angle", _ks(angle, stats.uniform(-np.pi, 2 * np.pi).cdf)


def _product(draws: int) -> Iterator[tuple[str, float]]:
    z = discrete_laplace(2 * draws, SMALL).reshape(-1, 2)
    yield "product exact, single points", chi_square(z, lambda x, y: np.abs(x) + np.abs(y))
    mechanism = ProductLaplace.of(EPSILON, ALPHA)
    for name, noise in _noise(mechanism, draws, seed=2):
        for axis, values in zip("PQ", noise.T, strict=True):
            yield f"product {name}, {axis}", _ks(values, stats.laplace.cdf)
        independent = stats.spearmanr(np.abs(noise[:, 0]), np.abs(noise[:, 1])).pvalue
        yield f"product {name}, independence", float(independent)


def _relative(draws: int) -> Iterator[tuple[str, float]]:
    """Test the noise on u and τ of a load above the floor, and of none."""
    mechanism, random = RelativeLaplace.of(EPSILON, ALPHA), np.random.default_rng(4)
    for load in ((0.0, 0.0), (0.3, -0.1)):
        loads = np.broadcast_to(load, (draws, 2))
        steps = mechanism.release(mechanism.to_grid(loads)) - mechanism.to_grid(loads[:1])
        spread = steps + random.random((draws, 2)) - 0.5
        simulated = _chart(mechanism.simulate(loads, random)) - _chart(loads[:1])
        for name, noise in (
            ("exact", spread / mechanism.scale),
            ("simulated", simulated / mechanism.chart_scale),
        ):
            for axis, values in zip("uτ", noise.T, strict=True):
                yield f"relative {name} at {load[0]:g}, {axis}", _ks(values, stats.laplace.cdf)
            independent = stats.spearmanr(np.abs(noise[:, 0]), np.abs(noise[:, 1])).pvalue
            yield f"relative {name} at {load[0]:g}, independence", float(independent)


def _chart(loads: np.ndarray) -> np.ndarray:
    (p, q), floor = loads.T, float(DEFAULT_FLOOR)
    return np.stack([np.arcsinh(p / floor), np.arcsinh(q / np.hypot(p, floor))], axis=1)


def _noise(
    mechanism: PolarLaplace | ProductLaplace, draws: int, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield exact and simulated noise in units of its scale.

    Each grid point is spread over its cell, so that ties do not spoil a continuous test.
    """
    zeros, random = np.zeros((draws, 2)), np.random.default_rng(seed)
    steps = mechanism.release(zeros.astype(np.int64)) + random.random((draws, 2)) - 0.5
    yield "exact", steps / mechanism.calibration.scale
    yield "simulated", mechanism.simulate(zeros, random) * EPSILON / ALPHA


def _piecewise(draws: int, mechanism: Piecewise) -> Iterator[tuple[str, float]]:
    """Test the chances below, in and above the window, and that each part is uniform."""
    load, random = np.array([0.3, 0.5]), np.random.default_rng(3)
    half, kind = float(mechanism.axis_epsilon) / 2, mechanism.kind
    loads = np.broadcast_to(load, (draws, 2))
    steps = to_grid(loads, mechanism.step)
    exact = mechanism.release(steps)
    lower, upper = (side[0] for side in mechanism.bounds.on_grid(mechanism.step, 1))
    for axis in range(2):
        window = mechanism._window(steps[:1, axis], lower[axis : axis + 1], upper[axis : axis + 1])
        edges = (
            window.first,
            window.start,
            window.start + window.width,
            window.first + window.total,
        )
        values = exact[:, axis] + random.random(draws)
        weights = np.array([1.0, np.exp(2 * half), 1.0])
        yield from _regions(f"piecewise ({kind}) exact, {'PQ'[axis]}", values, edges, weights)
    c = 1 / np.tanh(half / 2)
    y = 2 * (mechanism.simulate(loads, random) - BOUNDS.lower) / (BOUNDS.upper - BOUNDS.lower) - 1
    x = (2 * (load - BOUNDS.lower) / (BOUNDS.upper - BOUNDS.lower) - 1).ravel()
    for axis in range(2):
        left = (c + 1) / 2 * x[axis] - (c - 1) / 2
        density = np.array([1.0, np.exp(2 * half), 1.0])
        edges = (-c, left, left + c - 1, c)
        yield from _regions(
            f"piecewise ({kind}) simulated, {'PQ'[axis]}", y[:, axis], edges, density
        )


def _regions(
    name: str, values: np.ndarray, edges: tuple[float, ...], density: np.ndarray
) -> Iterator[tuple[str, float]]:
    cuts = np.array([float(np.squeeze(edge)) for edge in edges])
    chance = np.diff(cuts) * density
    counts = np.array([((values >= a) & (values < b)).sum() for a, b in pairwise(cuts)])
    expected = chance / chance.sum() * len(values)
    yield f"{name}, regions", float(stats.chisquare(counts, expected).pvalue)
    for region, (a, b) in zip(("below", "window", "above"), pairwise(cuts), strict=True):
        inside = values[(values >= a) & (values < b)]
        if len(inside) > 100:
            yield f"{name}, uniform in {region}", _ks(inside, stats.uniform(a, b - a).cdf)


def chi_square(z: np.ndarray, norm) -> float:  # type: ignore[no-untyped-def]
    """Return the p-value of draws against P(z) ∝ exp(−norm(z)/SMALL) over all integer points."""
    reach = 200
    axis = np.arange(-reach, reach + 1)
    weight = np.exp(-norm(*np.meshgrid(axis, axis, indexing="ij")) / SMALL)
    probability = weight / weight.sum()
    near = 9
    core = slice(reach - near, reach + near + 1)
    expected = probability[core, core].ravel()
    inside = np.abs(z).max(axis=1) <= near
    cells = (z[inside, 0] + near) * (2 * near + 1) + z[inside, 1] + near
    counts = np.bincount(cells, minlength=len(expected))
    observed = np.append(counts, len(z) - inside.sum())
    expected = np.append(expected, 1 - expected.sum()) * len(z)
    enough = expected >= 5
    observed, expected = (
        np.append(values[enough], values[~enough].sum()) for values in (observed, expected)
    )
    keep = expected > 0
    return float(stats.chisquare(observed[keep], expected[keep]).pvalue)


def _ks(values: np.ndarray, cdf) -> float:  # type: ignore[no-untyped-def]
    return float(stats.kstest(values, cdf).pvalue)


def main() -> int:
    rows = []
    for name, p in p_values(DRAWS):
        print(f"{name:50} p = {p:.3g}", flush=True)
        rows.append((name, f"{p:.3g}", "fits" if p > THRESHOLD else "**does not fit**"))
    intro = f"{DRAWS:,} draws of every sampler; a p-value below {THRESHOLD:g} is a bad fit."
    write_table("goodness_of_fit", intro, ("sampler and statistic", "p-value", "verdict"), rows)
    return sum(verdict != "fits" for _, _, verdict in rows)


if __name__ == "__main__":
    sys.exit(main())
