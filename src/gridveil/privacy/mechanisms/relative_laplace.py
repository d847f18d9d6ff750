"""Relative Laplace: noise in per cent of the load.

The distance of two loads is d = |Δu| + |Δτ| in the chart of `sampling/chart.py`,

    u = asinh(P/x0),    τ = asinh(Q/√(P² + x0²)),

with a public floor x0. Well above the floor a change of d is one by the factor e^d, which is about
d in parts of the load; Q counts in parts of |S|. Well below, it is one of x0·d in P and Q.

Theorem. Let g be the grid step and (k, l) the whole numbers of a load. Released is (k, l) plus
independent discrete Laplace noise of scale b ≥ (a/g + 3)/ε. Two loads at distance d are told apart
by at most (d/g + 3)/b: by at most ε for d ≤ a, and by at most ε·max(1, d/a) for every d.

Proof. `sampling/chart.py` proves |k − u/g| ≤ 3/4 and |l − τ/g| ≤ 3/4, before both are clamped to a
public number. Hence |Δk| ≤ |Δu|/g + 3/2 and |Δl| ≤ |Δτ|/g + 3/2, also after clamping, and
|Δk| + |Δl| ≤ d/g + 3. The noise has P(o | k, l) ∝ exp(−‖o − (k, l)‖₁/b), with a normalising sum
that does not depend on k and l, so

    ln P(o | k, l)/P(o | k', l') = (‖o − (k', l')‖₁ − ‖o − (k, l)‖₁)/b ≤ (|Δk| + |Δl|)/b
                                 ≤ (d/g + 3)/b.

For d ≤ a that is at most (a/g + 3)/b ≤ ε. For d > a, (d/g + 3)/(a/g + 3) ≤ d/a, since 3 ≤ 3·d/a.
What is published is computed from o and public numbers. ∎

Where a/g is a whole number and rounding is to the nearest, d ≤ a can be shown to take a/g + 2 steps
at most. A scale for so few would keep ε at a and break ε·d/a just beyond it, which the ledger
counts with: there, d/g + 3 steps do occur. So the scale is always made for a/g + 3.

Bias. With noise X and Y of scale β < 1/2 in the chart, R = √(P² + x0²) and R̃ alike,

    P̃ = x0·sinh(u + X) = P·cosh X + R·sinh X,    Q̃ = R̃·sinh(τ + Y),    R̃ = R·cosh X + P·sinh X.

E cosh X = 1/(1 − β²) and E sinh X = 0, so E P̃ = P/(1 − β²) and E Q̃ = Q/(1 − β²)². The median of
P̃ is P, as sinh rises. E P̃² is finite where E e^(2X) is: for β < 1/2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.claims import Claim, claim, number_claim
from gridveil.defaults import FLOOR
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import has_only_parameters
from gridveil.privacy.calibration import Calibration, Number, double_at_least, exact
from gridveil.privacy.guarantee import WITHIN_PER_CENT, Guarantee
from gridveil.privacy.mechanisms.base import (
    Mechanism,
    MechanismSettings,
    Pair,
    StatedProtection,
    promise_claim,
)
from gridveil.privacy.metric import Metric
from gridveil.privacy.relative_distance import check_relative_distance
from gridveil.privacy.sampling.blocks import in_blocks
from gridveil.privacy.sampling.chart import FINEST_STEP, chart_from_grid, chart_to_grid
from gridveil.privacy.sampling.exact import discrete_laplace

RELATIVE = (
    "|Δu| + |Δτ| with u = asinh(P/x0) and τ = asinh(Q/√(P² + x0²)), the relative distance between "
    "two values of the load with the floor x0"
)
DEFAULT_FLOOR = Fraction(FLOOR) / 100
"""In p.u.: 0.25 MVA on a base of 100 MVA."""
ROUNDING_STEPS = 3
"""How many steps further apart than d/g two loads may be on the grid."""
LARGEST_SCALE = Fraction(1, 2)
"""From this noise scale on, private loads have an infinite variance."""
WARNED_SCALE = Fraction(1, 4)
_EXACT = 1e-9
"""Relative difference of figures that follow from each other."""
_SCALED = "scale of the noise"


@dataclass(frozen=True)
class RelativeLaplace(Mechanism):
    """Independent discrete Laplace noise on u and τ, from OpenDP."""

    name: ClassVar[str] = "relative-laplace"
    calibration: Calibration
    """ε, the distance a, and the grid step of the chart."""
    floor: Fraction
    """x0 in p.u."""

    @classmethod
    def of(
        cls,
        epsilon: Number,
        distance: Number,
        step: Number | None = None,
        floor: Number = DEFAULT_FLOOR,
    ) -> Self:
        """Make the mechanism.

        Args:
            epsilon: The budget ε.
            distance: The relative distance a: 0.1 is 10 % of the load.
            step: The grid step of the chart; the largest power of ten up to a/1000 if None.
            floor: x0 in p.u.: below it, the distance becomes an absolute one.

        Example:
            >>> from gridveil import RelativeLaplace
            >>> round(RelativeLaplace.of(1, 0.1).guarantee().scale, 4)
            0.1003
        """
        a = exact(distance, "distance")
        check_relative_distance(a)
        x0 = exact(floor, "floor")
        if x0 <= 0:
            raise GridveilError(
                f"floor: {floor} must be above 0; it is the load in p.u. below which per cent turn "
                "into a fixed amount"
            )
        e = exact(epsilon, "epsilon")
        if e > 0:
            _check_scale(a / e, a, e)
        if step is not None and exact(step, "grid step") < FINEST_STEP:
            raise GridveilError(f"grid step: {step} must be at least {float(FINEST_STEP):g}")
        made = cls(Calibration.of(epsilon, distance, step), x0)
        _check_scale(Fraction(made.scale) * made.step, a, e)
        return made

    @classmethod
    def from_settings(cls, settings: MechanismSettings) -> Self:
        """Make the mechanism from settings, where α is the distance a."""
        floor = DEFAULT_FLOOR if settings.floor is None else settings.floor
        return cls.of(settings.epsilon, settings.alpha, settings.step, floor)

    @property
    def step(self) -> Fraction:
        """The grid step of the chart."""
        return self.calibration.step

    @property
    def is_linear(self) -> bool:
        """Its whole numbers are u and τ, not P and Q."""
        return False

    @cached_property
    def scale(self) -> float:
        """The noise scale in grid steps: the least double that is at least (a/g + 3)/ε."""
        c = self.calibration
        return double_at_least((c.alpha / c.step + ROUNDING_STEPS) / c.epsilon)

    @property
    def chart_scale(self) -> float:
        """The noise scale in the chart, β in the formulas above."""
        return self.scale * float(self.step)

    def to_grid(self, loads: FloatArray) -> IntArray:
        """Return u and τ of loads in p.u. in whole steps."""
        return chart_to_grid(loads, self.floor, self.step)

    def from_grid(self, steps: IntArray) -> FloatArray:
        """Return the loads in p.u. that whole steps of u and τ stand for."""
        return chart_from_grid(steps, self.floor, self.step)

    def corrected(self, loads: FloatArray) -> FloatArray:
        """Return private loads whose mean is the load: P(1 − β²) and Q(1 − β²)²."""
        shrink = 1 - self.chart_scale**2
        return np.asarray(loads * [shrink, shrink**2])

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid."""
        noise = discrete_laplace(loads.size, self.scale)
        return np.asarray(loads + noise.reshape(loads.shape))

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return loads with continuous noise of the same scale: for studies, not private."""
        floor, scale = float(self.floor), self.chart_scale

        def noisy(block: FloatArray, _: slice) -> FloatArray:
            p, q = block.T
            up, right = np.exp(random.laplace(0.0, scale, (2, len(block))))
            size = np.hypot(p, floor)
            p_noisy = _turned(p, size, up)
            share = np.hypot(p_noisy, floor) / size
            return np.stack([p_noisy, share * _turned(q, np.hypot(q, size), right)], axis=1)

        return in_blocks(loads, noisy)

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the privacy loss of outputs."""
        far, near = np.abs(output - other).sum(axis=1), np.abs(output - one).sum(axis=1)
        return np.asarray((far - near) / self.scale)

    def guarantee(self) -> Guarantee:
        """Return what it promises."""
        c = self.calibration
        return Guarantee(
            self.name,
            float(c.epsilon),
            float(c.alpha),
            RELATIVE,
            float(c.step),
            self.chart_scale,
            pairs=WITHIN_PER_CENT,
            kind=Metric.RELATIVE,
            floor=float(self.floor),
            warning=_warning(c),
        )

    def specification(self) -> dict[str, str]:
        """Return every parameter as exact text."""
        c = self.calibration
        return {
            "mechanism": self.name,
            "epsilon": str(c.epsilon),
            "distance": str(c.alpha),
            "step": str(c.step),
            "floor": str(self.floor),
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self | None:
        """Make the mechanism from its specification, which has one spelling."""
        texts = {name: parameters.get(name, "") for name in _PARAMETERS}
        try:
            made = cls.of(**texts)
        except GridveilError:
            return None
        return made if made.specification() == {"mechanism": cls.name, **texts} else None

    def audit_pairs(self) -> tuple[Pair, ...]:
        """Return pairs that are a apart, along u, along τ and along both, a zero load first."""
        floor, a = float(self.floor), float(self.calibration.alpha)
        return tuple(
            (_load(u, tau, floor), _load(u + a * share, tau + a * (1 - share), floor))
            for times, shares in _AUDITED
            for u, tau in [_coordinates(times * floor, times * floor / 2, floor)]
            for share in shares
        )

    @classmethod
    def checks(cls, stated: StatedProtection) -> Iterator[Claim]:
        """Check promise, metric and noise scale, and the exact parameters."""
        yield promise_claim(stated, WITHIN_PER_CENT, kind=Metric.RELATIVE)
        distance, scale = stated.relative_distance, stated.noise_scale_pu
        if distance is None or scale is None:
            yield claim(_SCALED, "none", "a relative mechanism has a distance and a scale", False)
            return
        found = (distance + ROUNDING_STEPS * stated.grid_step_pu) / stated.epsilon_loads
        yield number_claim(_SCALED, scale, found, _EXACT)
        yield claim("metric", stated.metric, RELATIVE, stated.metric == RELATIVE)
        yield cls._parameters_claim(stated)

    @classmethod
    def _parameters_claim(cls, stated: StatedProtection) -> Claim:
        """Check that the exact parameters are those of the figures, and can be the mechanism's."""
        made = cls.from_parameters(stated.parameters)
        if made is None:
            found = f"not readable, or such as {cls.name} cannot have"
            return claim("parameters", "as in the figures", found, False)
        c = made.calibration
        figures = (stated.relative_distance, stated.grid_step_pu, stated.floor_pu)
        same = (
            has_only_parameters(stated.parameters, {"mechanism", *_PARAMETERS})
            and stated.is_epsilon(c.epsilon)
            and figures == (float(c.alpha), float(c.step), float(made.floor))
        )
        shown = ", ".join(f"{name} {made.specification()[name]}" for name in _PARAMETERS)
        return claim("parameters", "as in the figures", shown, same)


_PARAMETERS = ("epsilon", "distance", "step", "floor")
_AUDITED = (
    (0.0, (1.0, 0.0)),
    (0.01, (0.5,)),
    (-0.01, (1.0,)),
    (1.0, (0.0, 1.0)),
    (-1.0, (0.5,)),
    (100.0, (1.0, 0.0, 0.5)),
)
"""Loads P = 2Q in floors, and which shares of the distance are one of u."""


def _check_scale(scale: Fraction, distance: Fraction, epsilon: Fraction) -> None:
    if scale >= LARGEST_SCALE:
        raise GridveilError(
            f"distance, epsilon: {float(100 * distance):g} % at ε = {float(epsilon):g} needs noise "
            "so wide that single loads come out hundreds of times too large, and the variance is "
            "infinite; raise epsilon, or choose a smaller distance: it must be below half of "
            "epsilon"
        )


def _warning(calibration: Calibration) -> str:
    if calibration.alpha / calibration.epsilon <= WARNED_SCALE:
        return ""
    return (
        f"{float(100 * calibration.alpha):g} % at ε = {float(calibration.epsilon):g} needs wide "
        "noise: some loads will come out several times too large. A distance of at most a quarter "
        "of ε is safer"
    )


def _turned(x: FloatArray, size: FloatArray, factor: FloatArray) -> FloatArray:
    """Return x·cosh n + size·sinh n for factor = e^n."""
    return np.asarray(((x + size) * factor + (x - size) / factor) / 2)


def _coordinates(p: float, q: float, floor: float) -> tuple[float, float]:
    return float(np.arcsinh(p / floor)), float(np.arcsinh(q / np.hypot(p, floor)))


def _load(u: float, tau: float, floor: float) -> tuple[float, float]:
    return floor * float(np.sinh(u)), floor * float(np.cosh(u) * np.sinh(tau))
