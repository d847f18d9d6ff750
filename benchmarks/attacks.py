"""Two attacks that work on the usual arithmetic and on the paper's calibration, drawn for the docs.

Run: .venv/bin/python -m benchmarks.attacks   (about half a minute)

Writes docs/attack-floating-point.svg and docs/attack-piecewise.svg, and prints the figures that
docs/attacks.md quotes.
"""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.figures import BLUE, GREY, ORANGE, save
from gridveil.privacy.audit import audit
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.base import near_pairs
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace

DRAWS = 200_000
BOUNDS = PublicBounds(np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]]), "chosen for this attack")


def impossible(outputs: np.ndarray, load: float) -> np.ndarray:
    """Return where no double z gives load + z = output."""
    guess = outputs - load
    near = (guess, np.nextafter(guess, np.inf), np.nextafter(guess, -np.inf))
    return ~np.any([load + z == outputs for z in near], axis=0)


def floating_point() -> None:
    """Draw the outputs of a load of 0 that a load of 0.1 p.u. can never have."""
    mechanism = PolarLaplace.of(1, 0.1)
    naive = mechanism.simulate(np.zeros((DRAWS, 2)), np.random.default_rng(1))[:, 0]
    gone = impossible(naive, 0.1)
    exact = mechanism.release(np.zeros((DRAWS, 2), dtype=np.int64))
    alpha = np.array([round(0.1 / float(mechanism.step)), 0])
    losses = mechanism.loss(exact, np.zeros(2, dtype=np.int64), alpha)
    gone_exact = ~np.isfinite(losses)
    print(f"float noise: {gone.mean():.1%} of outputs of load 0 are impossible for load 0.1")
    print(f"exact noise: {gone_exact.mean():.1%}; largest loss {np.abs(losses).max():.4f}")

    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    bins = np.linspace(-0.3, 0.3, 121)
    axes.hist(
        [naive[gone], naive[~gone]],
        bins=bins.tolist(),
        stacked=True,
        color=[ORANGE, BLUE],
        label=["impossible for a load of 0.1 p.u.", "possible for both"],
    )
    axes.set_xlabel("released P of a load of 0, float noise (p.u.)")
    axes.set_ylabel("releases")
    axes.legend(frameon=False, title=f"{gone.mean():.0%} of releases give the load away")
    save(figure, "attack-floating-point")


def piecewise() -> None:
    """Draw what the paper's calibration claims, what it is, and what an audit finds."""
    alphas = [0.5, 0.3, 0.2, 0.15, 0.1]
    found = []
    for alpha in alphas:
        mechanism = Piecewise.of(1, alpha, BOUNDS, "paper")
        result = audit(mechanism, epsilon=1.0, pairs=near_pairs(alpha), trials=60_000)
        found.append(result.epsilon_lower_bound)
        print(f"piecewise as printed, α = {alpha}: claimed 1, audited ε ≥ {found[-1]:.2f}")
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    axes.plot(alphas, [2 / a for a in alphas], "--", color=GREY, label="true loss 2ε/α")
    axes.plot(alphas, found, "o-", color=ORANGE, label="found by the audit (99 % confidence)")
    axes.axhline(1.0, color=BLUE, label="claimed: ε = 1")
    axes.set_xscale("log")
    axes.set_xticks(alphas, [f"{a:g}" for a in alphas])
    axes.minorticks_off()
    axes.set_xlabel("α (p.u.)")
    axes.set_ylabel("ε")
    axes.set_ylim(0, 21)
    axes.legend(frameon=False)
    save(figure, "attack-piecewise")


if __name__ == "__main__":
    floating_point()
    piecewise()
