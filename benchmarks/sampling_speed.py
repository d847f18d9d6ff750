"""How fast loads are privatised exactly, and simulated.

Run: .venv/bin/python -m benchmarks.sampling_speed   (under a minute)
"""

import sys
import time

import numpy as np

from benchmarks.report import write_table
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.mechanisms.relative_laplace import RelativeLaplace

LOADS, EXACT_LIMIT = 60_000, 30.0
DRAWS, SIMULATED_LIMIT = 10_000_000, 2.0
BOUNDS = PublicBounds(np.array([[0.0, -1.0]]), np.array([[1.0, 2.0]]), "chosen for this benchmark")


def main() -> int:
    mechanisms: list[tuple[str, Mechanism]] = [
        ("polar-laplace", PolarLaplace.of(1, 0.1)),
        ("product-laplace", ProductLaplace.of(1, 0.1)),
        ("relative-laplace", RelativeLaplace.of(1, 0.1)),
        ("piecewise, sound", Piecewise.of(1, 0.1, BOUNDS)),
        ("piecewise, paper", Piecewise.of(1, 0.1, BOUNDS, "paper")),
    ]
    rows, slow = [], 0
    few, many = np.full((LOADS, 2), 0.3), np.full((DRAWS, 2), 0.3)
    for name, mechanism in mechanisms:
        started = time.perf_counter()
        mechanism.from_grid(mechanism.release(mechanism.to_grid(few)))
        exact = time.perf_counter() - started
        started = time.perf_counter()
        mechanism.simulate(many, np.random.default_rng(1))
        simulated = time.perf_counter() - started
        slow += exact > EXACT_LIMIT or simulated > SIMULATED_LIMIT
        ratio = (exact / LOADS) / (simulated / DRAWS)
        rows.append((name, f"{exact:.2f} s", f"{simulated:.2f} s", f"{ratio:.0f} ×"))
        print("{:18} exact {:>8}, simulated {:>8}, exact costs {} a load".format(*rows[-1]))
    intro = (
        f"{LOADS:,} loads exactly, the way to the grid and back included (at most "
        f"{EXACT_LIMIT:g} s), and {DRAWS:,} simulated (at most {SIMULATED_LIMIT:g} s). The last "
        "column is what one exact load costs in simulated ones: the price of arithmetic that does "
        "not leak."
    )
    headings = ("mechanism", f"{LOADS:,} exact", f"{DRAWS:,} simulated", "exact / simulated")
    write_table("sampling_speed", intro, headings, rows)
    return slow


if __name__ == "__main__":
    sys.exit(main())
