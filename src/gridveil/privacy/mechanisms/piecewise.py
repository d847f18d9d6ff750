"""The piecewise mechanism of the paper's appendix, on P and Q separately, within public bounds.

An output falls with density r·c into a window around the input and with density c elsewhere. Two
inputs can differ by at most the factor r at any output, wherever their windows lie.

Proof (sound). r = e^{ε/2} on each of P and Q, so the pair has a loss of at most ε, for any two
loads within the bounds: α plays no part.

The paper's calibration has r = e^{ε/α} on each, between any two different inputs however close:
the pair's loss is 2ε/α, not ε. At α = 0.1 and ε = 1 that is 20. It is here to be reproduced, not
relied on.

On the grid the N + 1 points between the bounds are extended by w points on either side, w being the
window's width; the window's place makes the output's mean the input, to within half a step.
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Calibration, Number
from gridveil.privacy.guarantee import ANY, Guarantee
from gridveil.privacy.sampling.blocks import in_blocks
from gridveil.privacy.sampling.exact import bernoulli, uniform_below

PaperOrSound = Literal["paper", "sound"]


@dataclass(frozen=True)
class Piecewise:
    """The piecewise mechanism, calibrated as printed ("paper") or so that it holds ("sound")."""

    name: ClassVar[str] = "piecewise"
    calibration: Calibration
    bounds: PublicBounds
    kind: PaperOrSound

    @classmethod
    def of(
        cls,
        epsilon: Number,
        alpha: Number,
        bounds: PublicBounds,
        calibration: PaperOrSound = "sound",
        step: Number | None = None,
    ) -> "Piecewise":
        """Make the mechanism from ε, α in p.u., public bounds and, optionally, the grid step."""
        if calibration not in ("paper", "sound"):
            raise GridveilError(f"calibration: {calibration!r} is neither 'paper' nor 'sound'")
        return cls(Calibration.of(epsilon, alpha, step), bounds, calibration)

    @property
    def step(self) -> Fraction:
        """The grid step in p.u."""
        return self.calibration.step

    @property
    def axis_epsilon(self) -> Fraction:
        """What P pays, and Q once more."""
        c = self.calibration
        return c.epsilon / 2 if self.kind == "sound" else c.epsilon / c.alpha

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid."""
        lower, upper = self.bounds.on_grid(self.step, len(loads))
        # Bounds are rounded inwards and loads to the nearest step: a load at its bound may be one
        # step beyond it.
        _refuse_outside(loads < lower - 1, loads > upper + 1)
        window = self._window(np.clip(loads, lower, upper).ravel(), lower.ravel(), upper.ravel())
        inside = bernoulli(window.probability, window.exactly)
        within = window.start + uniform_below(window.width)
        skipped = window.first + uniform_below(window.total - window.width)
        outside = skipped + np.where(skipped >= window.start, window.width, 0)
        return np.where(inside, within, outside).reshape(loads.shape)

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return draws of the appendix's algorithm in doubles: for studies, not private."""
        lower, upper = (
            np.broadcast_to(side, loads.shape) for side in (self.bounds.lower, self.bounds.upper)
        )
        _refuse_outside(loads < lower, loads > upper)
        half = float(self.axis_epsilon) / 2
        c = 1 / np.tanh(half / 2)  # (e^half + 1)/(e^half − 1), without overflow
        chance = 1 / (1 + np.exp(-half))

        def noisy(block: FloatArray, rows: slice) -> FloatArray:
            low, high = lower[rows], upper[rows]
            x = 2 * (block - low) / (high - low) - 1
            left = (c + 1) / 2 * x - (c - 1) / 2
            p = random.random(x.shape)
            # Given the choice, p is uniform again: once below the chance, once above it.
            within = left + p / chance * (c - 1)
            with np.errstate(divide="ignore", invalid="ignore"):  # the chance may round to 1
                skipped = -c + (p - chance) / (1 - chance) * (c + 1)
            outside = np.where(skipped < left, skipped, skipped + (c - 1))
            y = np.where(p <= chance, within, outside)
            return np.asarray((high - low) * (y + 1) / 2 + low)

        return in_blocks(loads, noisy)

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the privacy loss of outputs."""
        near, far = (self._in_window(output, load) for load in (one, other))
        gained = near.astype(float) - far.astype(float)
        return np.asarray(gained.reshape(output.shape).sum(axis=1) * float(self.axis_epsilon))

    def guarantee(self) -> Guarantee:
        """Return what it promises; for the paper's calibration, what it really is."""
        epsilon = float(2 * self.axis_epsilon)
        caution = ""
        if self.kind == "paper":
            caution = (
                f"CAUTION: the paper prints ε = {float(self.calibration.epsilon):g} for this "
                f"calibration, which it does not keep: its loss is ε/α = "
                f"{float(self.axis_epsilon):g} on each of P and Q, however close two loads are."
            )
        return Guarantee(
            self.name, epsilon, None, ANY, float(self.step), scale=None, caution=caution
        )

    def specification(self) -> dict[str, str]:
        """Return every parameter."""
        return {
            "mechanism": self.name,
            "calibration": self.kind,
            **self.calibration.specification(),
            **self.bounds.specification(),
        }

    def _window(self, loads: IntArray, lower: IntArray, upper: IntArray) -> "_Window":
        """Place the window of each input; any place would be private, this one is unbiased."""
        epsilon = float(self.axis_epsilon)
        spread = (1 / np.tanh(epsilon / 4) - 1) / 2
        width = np.maximum(1, np.rint(spread * (upper - lower))).astype(np.int64)
        first, total = lower - width, upper - lower + 1 + 2 * width
        outweighs = width * -np.expm1(-epsilon)
        stretch = 1 + total * np.exp(-epsilon) / outweighs
        centre = (lower + upper) / 2
        start = np.rint(centre + (loads - centre) * stretch - (width - 1) / 2).astype(np.int64)
        start = np.clip(start, first, first + total - width)
        return _Window(start, width, first, total, self.axis_epsilon)

    def _in_window(self, output: IntArray, load: IntArray) -> BoolArray:
        loads = np.broadcast_to(load, output.shape)
        lower, upper = self.bounds.on_grid(self.step, len(output))
        window = self._window(loads.ravel(), lower.ravel(), upper.ravel())
        flat = output.ravel()
        return np.asarray((flat >= window.start) & (flat < window.start + window.width))


@dataclass(frozen=True)
class _Window:
    """For each input, the likelier outputs [start, start + width) of the possible ones."""

    start: IntArray
    width: IntArray
    first: IntArray
    total: IntArray
    epsilon: Fraction

    @property
    def probability(self) -> FloatArray:
        """The chance of the window: width r / (width r + total − width), with r = e^ε."""
        rest = (self.total - self.width) * np.exp(-float(self.epsilon))
        return np.asarray(self.width / (self.width + rest))

    def exactly(self, index: int, context: Context) -> Decimal:
        wide = Context(prec=context.prec + 10)
        ratio = wide.divide(Decimal(self.epsilon.numerator), Decimal(self.epsilon.denominator))
        width, total = int(self.width[index]), int(self.total[index])
        rest = wide.multiply(Decimal(total - width), wide.exp(wide.minus(ratio)))
        return wide.divide(Decimal(width), wide.add(Decimal(width), rest))


def _refuse_outside(below: BoolArray, above: BoolArray) -> None:
    outside = np.flatnonzero((below | above).any(axis=1))
    if len(outside):
        raise GridveilError(
            f"load {outside[0] + 1} (and {len(outside) - 1} more) lies outside its public bounds; "
            "correct the bounds at their public source, not from the load"
        )
