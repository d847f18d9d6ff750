"""Relative Laplace under attack: steps of adversarial pairs, and the audit at three distances.

Run: .venv/bin/python -m benchmarks.relative_laplace   (some five minutes)
"""

import sys
from fractions import Fraction

import numpy as np

from benchmarks.report import write_table
from gridveil import AuditResult, audit
from gridveil.privacy.mechanisms.relative_laplace import ROUNDING_STEPS, RelativeLaplace

PAIRS, BLOCK = 2_000_000, 100_000
TRIALS = 400_000
DISTANCES = ("0.01", "0.1", "0.4")
_SPECIAL = np.array([0.0, 1e-12, 0.01, 1.0, 100.0, 1e6])
"""Sizes of loads in floors, of which the pairs lie around."""


def adversarial_pairs(
    mechanism: RelativeLaplace, count: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of loads, many of which straddle the edges of rounding.

    The first loads lie everywhere, at the edges and around special sizes; the second ones are up to
    a few distances away, along u, along τ and along both.
    """
    step, floor = float(mechanism.step), float(mechanism.floor)
    reach = float(mechanism.calibration.alpha) / step
    places = random.uniform(-15, 15, (count, 2)) / step
    special = np.arcsinh(random.choice(_SPECIAL, (count, 2)) * random.choice([-1, 1], (count, 2)))
    near_special = special / step + random.uniform(-3, 3, (count, 2))
    start = np.where(random.random((count, 1)) < 0.5, places, near_special)
    edge = np.floor(start) + 0.5 + random.normal(0, 1e-9, (count, 2))
    start = np.where(random.random((count, 2)) < 0.7, edge, start)
    share = random.choice([0.0, 1.0, 0.5, np.nan], count)
    share = np.where(np.isnan(share), random.random(count), share)
    moves = np.stack([share, 1 - share], axis=1) * random.choice([-1, 1], (count, 2))
    far = np.where(random.random(count) < 0.7, reach, reach * random.uniform(0, 4, count))
    end = start + moves * (far * (1 - 1e-9))[:, None]
    end = np.where(random.random((count, 2)) < 0.5, end + random.normal(0, 1e-9, (count, 2)), end)
    return _loads(start * step, floor), _loads(end * step, floor)


def steps_and_distance(
    mechanism: RelativeLaplace, one: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many steps apart loads are on the grid, and how many their distance has."""
    on_grid = np.abs(mechanism.to_grid(one) - mechanism.to_grid(other)).sum(axis=1)
    apart = np.abs(_coordinates(mechanism, one) - _coordinates(mechanism, other)).sum(axis=1)
    return on_grid, apart / np.longdouble(float(mechanism.step))


def _coordinates(mechanism: RelativeLaplace, loads: np.ndarray) -> np.ndarray:
    """Return u and τ in extended precision, which the grid does not use."""
    p, q = loads.astype(np.longdouble).T
    floor = np.longdouble(mechanism.floor.numerator) / np.longdouble(mechanism.floor.denominator)
    return np.stack([np.arcsinh(p / floor), np.arcsinh(q / np.hypot(p, floor))], axis=1)


def _loads(coordinates: np.ndarray, floor: float) -> np.ndarray:
    u, tau = coordinates.T
    return np.stack([floor * np.sinh(u), floor * np.cosh(u) * np.sinh(tau)], axis=1)


def _bound_of_each_load(found: AuditResult) -> dict[float, float]:
    """Return the largest bound on ε among the pairs of each load, by its active power in p.u."""
    bounds: dict[float, float] = {}
    for pair in found.pairs:
        bounds[pair.one[0]] = max(bounds.get(pair.one[0], 0.0), pair.epsilon_lower_bound)
    return bounds


def main() -> int:
    rows, broken = [], 0
    random = np.random.default_rng(1)
    for distance in DISTANCES:
        mechanism = RelativeLaplace.of(1, distance)
        reach = mechanism.calibration.alpha / mechanism.step
        within, excess = 0, -np.inf
        for _ in range(PAIRS // BLOCK):
            steps, apart = steps_and_distance(
                mechanism, *adversarial_pairs(mechanism, BLOCK, random)
            )
            within = max(within, int(steps[apart <= float(reach)].max()))
            excess = max(excess, float((steps - apart).max()))
        found = audit(mechanism, trials=TRIALS)
        bounds = _bound_of_each_load(found)
        least, most = min(bounds.values()), max(bounds.values())
        ok = excess <= ROUNDING_STEPS and 0.9 <= least <= most <= 1 and not found.shown_by
        broken += not ok
        rows.append(
            (
                f"{float(Fraction(distance)):.0%}",
                f"{within} (at most {float(reach + ROUNDING_STEPS):g})",
                f"{excess:.3f}",
                f"{least:.3f} to {most:.3f}",
                "holds" if ok else "**broken**",
            )
        )
        print(*rows[-1], flush=True)
    intro = (
        f"{PAIRS:,} pairs of loads for each distance a, most of them at the edges of rounding: "
        "how many steps apart loads within a are, and how many more steps than d/g any pair is "
        f"(at most {ROUNDING_STEPS}). Then the audit with {TRIALS:,} trials of each of its pairs, "
        "against a claim of ε = 1, at a confidence of 99 %: the least and the largest bound of "
        "the loads P = 0, ±x0/100, ±x0 and 100 x0, each of which has to lie between 0.9 and 1."
    )
    headings = ("a", "steps within a", "steps more than d/g", "ε found, by load", "verdict")
    write_table("relative_laplace", intro, headings, rows)
    return broken


if __name__ == "__main__":
    sys.exit(main())
