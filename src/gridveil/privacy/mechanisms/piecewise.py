"""The piecewise mechanism of the paper's appendix, on P and Q separately, within public bounds.

An output falls with density r·c into a window around the input and with density c elsewhere. Two
inputs can differ by at most the factor r at any output, wherever their windows lie.

Proof (sound). r = e^{ε/2} on each of P and Q, so the pair has a loss of at most ε, for any two
loads within the bounds: α plays no part.

Loads beyond the bounds are clamped to them before the draw, P and Q of each on its own. That is a
function of the load and of public numbers alone, so what is drawn has the loss of two loads within
the bounds, whatever the two loads were: ε holds for any two loads at all. An error instead would
depend on a load.

The paper's calibration has r = e^{ε/α} on each, between any two different inputs however close:
the pair's loss is 2ε/α, not ε. At α = 0.1 and ε = 1 that is 20. It is here to be reproduced, not
relied on.

On the grid the N + 1 points between the bounds are extended by w points on either side, w being the
window's width; the window's place makes the output's mean the input, to within half a step. The
outputs must fit into whole numbers: ε that are too small for the bounds are refused when the
mechanism is made, by public numbers alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.claims import Claim, claim
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds, are_bounds
from gridveil.privacy.calibration import Calibration, Number, exact
from gridveil.privacy.guarantee import ANY, WITHIN_BOUNDS, Guarantee
from gridveil.privacy.mechanisms.base import (
    Mechanism,
    MechanismSettings,
    Pair,
    StatedProtection,
    near_pairs,
    promise_claim,
)
from gridveil.privacy.sampling.blocks import in_blocks
from gridveil.privacy.sampling.exact import bernoulli, uniform_below
from gridveil.privacy.sampling.grid import LARGEST_LOAD

_WIDEST = LARGEST_LOAD
"""The largest output, in grid steps: half of what a private value may have."""

_PARAMETERS = frozenset(
    ("mechanism", "calibration", "epsilon", "alpha", "step", "bounds", "bounds_digest")
)
_PRINTED = re.compile(r"CAUTION: the paper prints ε = ([0-9.e+-]{1,20}) ")

CalibrationKind = Literal["sound", "paper"]


@dataclass(frozen=True)
class Piecewise(Mechanism):
    """The piecewise mechanism, calibrated as printed ("paper") or so that it holds ("sound")."""

    name: ClassVar[str] = "piecewise"
    calibrations = ("sound", "paper")
    needs_bounds = True
    calibration: Calibration
    bounds: PublicBounds
    kind: CalibrationKind

    @classmethod
    def of(
        cls,
        epsilon: Number,
        alpha: Number,
        bounds: PublicBounds,
        calibration: str = "sound",
        step: Number | None = None,
    ) -> "Piecewise":
        """Make the mechanism.

        Args:
            epsilon: The budget ε.
            alpha: The distance α, in p.u.; of use to the paper's calibration only.
            bounds: Public bounds of every load.
            calibration: "sound", or "paper" as printed there.
            step: The grid step γ in p.u.; the largest power of ten up to α/1000 if None.

        Example:
            >>> import numpy as np
            >>> from gridveil import Piecewise, PublicBounds
            >>> bounds = PublicBounds(np.zeros((1, 2)), np.ones((1, 2)), "ratings")
            >>> Piecewise.of(1, 0.1, bounds).guarantee().epsilon
            1.0
        """
        kinds: dict[str, CalibrationKind] = {"sound": "sound", "paper": "paper"}
        if calibration not in kinds:
            raise GridveilError(f"calibration: {calibration!r} is none of {', '.join(kinds)}")
        made = cls(Calibration.of(epsilon, alpha, step), bounds, kinds[calibration])
        with np.errstate(over="ignore", invalid="ignore"):  # bounds may be as wide as doubles
            width = made._spread * (bounds.upper - bounds.lower)
            reach = np.maximum(abs(bounds.lower), abs(bounds.upper)) + width
        if not (reach <= _WIDEST * float(made.step)).all():
            raise GridveilError(
                f"epsilon = {epsilon} and the public bounds ask for outputs on a grid of "
                f"{float(made.step):g} p.u. that are larger than can be drawn; raise epsilon or "
                "the grid step, or take narrower bounds"
            )
        return made

    @classmethod
    def from_settings(cls, settings: MechanismSettings) -> "Piecewise":
        """Make the mechanism from settings, which must have public bounds."""
        if settings.bounds is None:
            raise GridveilError(
                "the piecewise mechanism needs public bounds of every load, from a published source"
            )
        return cls.of(
            settings.epsilon, settings.alpha, settings.bounds, settings.calibration, settings.step
        )

    @property
    def step(self) -> Fraction:
        """The grid step in p.u."""
        return self.calibration.step

    @property
    def axis_epsilon(self) -> Fraction:
        """What P pays, and Q once more."""
        c = self.calibration
        return c.epsilon / 2 if self.kind == "sound" else c.epsilon / c.alpha

    @property
    def _spread(self) -> float:
        """The width of the window as a part of the width of the bounds, (C − 1)/2."""
        return float((1 / np.tanh(float(self.axis_epsilon) / 4) - 1) / 2)

    def of_first(self, count: int) -> "Piecewise":
        """Return the mechanism with the bounds of the first loads alone."""
        return replace(self, bounds=self.bounds.of_first(count))

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid; loads beyond the bounds are clamped."""
        lower, upper = self.bounds.on_grid(self.step, len(loads))
        window = self._window(loads.ravel(), lower.ravel(), upper.ravel())
        inside = bernoulli(window.probability, window.exactly)
        within = window.start + uniform_below(window.width)
        skipped = window.first + uniform_below(window.total - window.width)
        outside = skipped + np.where(skipped >= window.start, window.width, 0)
        return np.where(inside, within, outside).reshape(loads.shape)

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return draws of the appendix's algorithm in doubles: for studies, not private.

        Loads beyond the bounds are clamped to them, as for a release.
        """
        lower, upper = (
            np.broadcast_to(side, loads.shape) for side in (self.bounds.lower, self.bounds.upper)
        )
        half = float(self.axis_epsilon) / 2
        c = 1 / np.tanh(half / 2)  # (e^half + 1)/(e^half − 1), without overflow
        chance = 1 / (1 + np.exp(-half))

        def noisy(block: FloatArray, rows: slice) -> FloatArray:
            low, high = lower[rows], upper[rows]
            x = 2 * (np.clip(block, low, high) - low) / (high - low) - 1
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
            caution = _caution(f"{float(self.calibration.epsilon):g}", float(self.axis_epsilon))
        return Guarantee(
            self.name, epsilon, None, ANY, float(self.step), scale=None, caution=caution,
            pairs=WITHIN_BOUNDS,
        )  # fmt: skip

    def specification(self) -> dict[str, str]:
        """Return every parameter."""
        return {
            "mechanism": self.name,
            "calibration": self.kind,
            **self.calibration.specification(),
            **self.bounds.specification(),
        }

    def audit_pairs(self) -> tuple[Pair, ...]:
        """Return any two loads within the bounds; for the paper's calibration, loads α apart."""
        if self.kind == "paper":
            return near_pairs(float(self.calibration.alpha))
        return far_pairs(self.bounds)

    @classmethod
    def checks(cls, stated: StatedProtection) -> Iterator[Claim]:
        """Check the promise, that it has no distance, and that it has bounds."""
        yield promise_claim(stated, WITHIN_BOUNDS, _caution_of(stated))
        without = stated.alpha_pu is None and stated.noise_scale_pu is None and stated.metric == ANY
        yield claim("distance", "none", "none" if without else "one is stated", without)
        bounded = bool(stated.bounds.strip())
        yield claim("bounds", "public", "public" if bounded else "none are named", bounded)
        if stated.parameters:
            kind = stated.parameters.get("calibration", "")
            ok = kind in cls.calibrations
            yield claim("calibration", kind, kind if ok else "there is no such", ok)
            yield _parameters_claim(stated, kind)

    def _window(self, loads: IntArray, lower: IntArray, upper: IntArray) -> "_Window":
        """Place the window of each input, clamped to the bounds.

        Any place would be private, this one is unbiased.
        """
        epsilon = float(self.axis_epsilon)
        width = np.maximum(1, np.rint(self._spread * (upper - lower))).astype(np.int64)
        first, total = lower - width, upper - lower + 1 + 2 * width
        outweighs = width * -np.expm1(-epsilon)
        stretch = 1 + total * np.exp(-epsilon) / outweighs
        centre = (lower + upper) / 2
        inputs = np.clip(loads, lower, upper)
        start = np.rint(centre + (inputs - centre) * stretch - (width - 1) / 2)
        start = np.clip(start, first, first + total - width).astype(np.int64)
        return _Window(start, width, first, total, self.axis_epsilon)

    def _in_window(self, output: IntArray, load: IntArray) -> BoolArray:
        loads = np.broadcast_to(load, output.shape)
        lower, upper = self.bounds.on_grid(self.step, len(output))
        window = self._window(loads.ravel(), lower.ravel(), upper.ravel())
        flat = output.ravel()
        return np.asarray((flat >= window.start) & (flat < window.start + window.width))


def _caution(printed: str, loss: float) -> str:
    """Return what is to be known of the paper's calibration, which prints an ε it does not keep."""
    return (
        f"CAUTION: the paper prints ε = {printed} for this calibration, which it does not keep: "
        f"its loss is ε/α = {loss:g} on each of P and Q, however close two loads are."
    )


def _caution_of(stated: StatedProtection) -> str:
    """Return the caution that belongs to what a certificate states; empty where there is none."""
    if not stated.parameters:  # a certificate of version 1 does not say what the paper prints
        printed = _PRINTED.match(stated.caution)
        return "" if printed is None else _caution(printed[1], stated.epsilon_loads / 2)
    if stated.parameters.get("calibration") != "paper":
        return ""
    try:
        epsilon, alpha = (exact(stated.parameters[name], name) for name in ("epsilon", "alpha"))
        return _caution(f"{float(epsilon):g}", float(epsilon / alpha))
    except (KeyError, GridveilError, ZeroDivisionError):
        return ""


def _parameters_claim(stated: StatedProtection, kind: str) -> Claim:
    """Check that the exact parameters give the figures."""
    try:
        c = Calibration.from_specification(stated.parameters)
        same = stated.is_epsilon(c.epsilon if kind == "sound" else 2 * c.epsilon / c.alpha)
    except GridveilError:
        return claim("parameters", "as in the figures", "not readable, or too coarse", False)
    known = set(stated.parameters) == _PARAMETERS and are_bounds(stated.parameters)
    same = same and known and float(c.step) == stated.grid_step_pu
    shown = ", ".join(f"{name} {text}" for name, text in c.specification().items())
    return claim("parameters", "as in the figures", shown, same)


def far_pairs(bounds: PublicBounds) -> tuple[Pair, ...]:
    """Return pairs as far apart as public bounds allow, in p.u.; a zero load first."""
    low, high = ((float(side[0, 0]), float(side[0, 1])) for side in (bounds.lower, bounds.upper))
    return (((0.0, 0.0), high), (low, high), ((low[0], high[1]), (high[0], low[1])))


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
