"""Which floor keeps loads positive: the share of negative loads at 10 % and ε = 1, by floor.

Run: .venv/bin/python -m benchmarks.noise_floor   (half a minute)

A positive load P turns negative where the noise in u = asinh(P/x0) is below −u: with a probability
of exp(−u/β)/2, β being the scale of the noise. So shares are computed, not sampled. Each floor is a
cap: where public numbers tell that loads are small, a network keeps its smaller one.
"""

import sys

import numpy as np

from benchmarks.feeders import FEEDERS, feeder
from benchmarks.noise_kinds import networks
from benchmarks.report import write_table
from gridveil import RelativeLaplace, load_case
from gridveil.defaults import FLOOR
from gridveil.privacy.choice import fitting_floor

CAPS = (1.0, 0.5, 0.4, 0.3, float(FLOOR), 0.2, 0.1)
"""In MVA."""
MOST, WORTH_A_ROW = 0.01, 0.002
SCALE = RelativeLaplace.of(1, "0.1").chart_scale


def negatives(p: np.ndarray, floor: float) -> float:
    """Return the share of positive loads, in MW, that is expected to come out negative."""
    positive = p[p > 0]
    return float(np.exp(-np.arcsinh(positive / floor) / SCALE).mean() / 2) if len(positive) else 0.0


def measured(name: str) -> list[float]:
    """Return the share of negative loads for each cap."""
    network = feeder(name) if name in FEEDERS else load_case(name)
    p, fitting = network.loads.p * network.base_mva, fitting_floor(network)
    return [negatives(p, cap if fitting is None else min(cap, float(fitting))) for cap in CAPS]


def main() -> int:
    rows = [(buses, name, measured(name)) for buses, name in networks(sys.maxsize)]
    shares = np.array([each for *_, each in rows])
    too_many, worst = (shares > MOST).sum(axis=0), shares.max(axis=0)
    write_table(
        "noise_floor",
        f"Loads that relative noise of 10 % at ε = 1 makes negative, by the largest floor, on "
        f"{len(rows)} networks: all of PGLib and five feeders of pandapower. Expected shares of "
        f"positive loads, computed. Rows are networks with more than {WORTH_A_ROW:.1%} at 1 MVA.",
        ("buses", "network", *(f"{cap:g} MVA" for cap in CAPS)),
        [
            *(
                (f"{buses:,}", name, *(f"{share:.2%}" for share in each))
                for buses, name, each in sorted(rows)
                if each[0] > WORTH_A_ROW
            ),
            ("", f"networks above {MOST:.0%}", *too_many),
            ("", "the worst of all", *(f"{share:.2%}" for share in worst)),
        ],
    )
    return 0 if worst[CAPS.index(float(FLOOR))] <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
