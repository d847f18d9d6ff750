"""Rated Laplace: noise whose size follows the public rating of each load.

The distance of load i is α_i = share·r_i, with its rating r_i public. It is drawn by product or
polar Laplace noise for α_i, independently of all other loads.

Proof. The noise of a load is that of the other mechanism with α_i, on a grid γ that is the same for
all loads and divides the least α_i into at least 1000 steps. So its theorem, and the slope of its
loss, hold load by load. Ratings and share are public numbers: nothing else differs between loads. ∎
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.claims import Claim, claim
from gridveil.claims import stated as stated_claim
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import has_only_parameters
from gridveil.privacy.calibration import Calibration, Number, default_step, exact
from gridveil.privacy.guarantee import L1, Guarantee
from gridveil.privacy.mechanisms.base import (
    Mechanism,
    MechanismSettings,
    StatedProtection,
    promise_claim,
)
from gridveil.privacy.mechanisms.laplace import LaplaceMechanism
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.ratings import PublicRatings

WITHIN_SHARE = (
    "two values of it that differ by at most {share} % of its public rating (counted as "
    "|ΔP| + |ΔQ|)"
)
"""Which pairs of values the promise is about, in words."""
LEAST_SHARE, LARGEST_SHARE = Fraction(1, 1000), Fraction(10)
_NOISE: dict[str, type[LaplaceMechanism]] = {
    kind.name: kind for kind in (ProductLaplace, PolarLaplace)
}
_PARAMETERS = ("mechanism", "noise", "epsilon", "share", "step", "base_mva", "source", "ratings")
_SHOWN = ("noise", "epsilon", "share", "step")


@dataclass(frozen=True)
class RatedLaplace(Mechanism):
    """Laplace noise for a share of each load's rating. Row j of its arrays is load j modulo n."""

    name: ClassVar[str] = "rated-laplace"
    noise: str
    """The mechanism that draws it: product-laplace or polar-laplace."""
    epsilon: Fraction
    share: Fraction
    ratings: PublicRatings
    base_mva: Fraction
    grid_step: Fraction

    @classmethod
    def of(
        cls,
        epsilon: Number,
        share: Number,
        ratings: PublicRatings,
        base_mva: Number,
        noise: str = ProductLaplace.name,
        step: Number | None = None,
    ) -> Self:
        """Make the mechanism.

        Args:
            epsilon: The budget ε.
            share: The share of its rating that is hidden of each load: 0.1 is 10 %.
            ratings: The public rating of each load.
            base_mva: The base of per unit.
            noise: Which mechanism draws it: "product-laplace" or "polar-laplace".
            step: The grid step in p.u.; the largest power of ten up to a thousandth of the least
                distance if None.

        Example:
            >>> from gridveil import PublicRatings, RatedLaplace
            >>> made = RatedLaplace.of(1, 0.1, PublicRatings.of([10, 100], "grid map"), 100)
            >>> made.guarantee().distances
            (0.01, 0.1)
        """
        if noise not in _NOISE:
            raise GridveilError(
                f"mechanism {noise!r} has no distance per load; choose {' or '.join(_NOISE)}"
            )
        part = exact(share, "share of the rating")
        if not LEAST_SHARE <= part <= LARGEST_SHARE:
            raise GridveilError(
                f"hide: {float(100 * part):g} % of a rating makes no sense; it has to be between "
                f"{float(100 * LEAST_SHARE):g} % and {float(100 * LARGEST_SHARE):g} %"
            )
        if not ratings.mva:
            raise GridveilError("ratings: at least one load is needed")
        base = exact(base_mva, "base")
        least = part * min(ratings.mva) / base
        grid = default_step(least) if step is None else exact(step, "grid step")
        made = cls(noise, exact(epsilon, "epsilon"), part, ratings, base, grid)
        for distance in set(made.load_distances):
            Calibration.of(made.epsilon, distance, grid)
        return made

    @classmethod
    def from_settings(cls, settings: MechanismSettings) -> Self:  # noqa: ARG003
        """Refuse: without ratings there are no distances."""
        raise GridveilError(
            f'mechanism {cls.name!r}: it is chosen by --hide 10%rating (hide="10%rating" in '
            "Python), with --ratings"
        )

    @property
    def step(self) -> Fraction:
        """The grid step in p.u."""
        return self.grid_step

    @cached_property
    def load_distances(self) -> tuple[Fraction, ...]:
        """The exact distance of each load, in p.u."""
        return tuple(self.share * rating / self.base_mva for rating in self.ratings.mva)

    @cached_property
    def _groups(self) -> list[tuple[LaplaceMechanism, IntArray]]:
        """Loads of the same distance, and what draws their noise."""
        members: dict[Fraction, list[int]] = {}
        for i, distance in enumerate(self.load_distances):
            members.setdefault(distance, []).append(i)
        kind = _NOISE[self.noise]
        return [
            (kind.of(self.epsilon, distance, self.step), np.array(rows))
            for distance, rows in members.items()
        ]

    def of_load(self, i: int) -> LaplaceMechanism:
        """Return the mechanism of one load, such as an audit can play with."""
        return _NOISE[self.noise].of(self.epsilon, self.load_distances[i], self.step)

    def of_first(self, count: int) -> "RatedLaplace":
        """Return the mechanism of the first loads alone, on the same grid."""
        return replace(self, ratings=replace(self.ratings, mva=self.ratings.mva[:count]))

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid."""
        found = np.empty_like(loads)
        for mechanism, rows in self._rows(len(loads)):
            found[rows] = mechanism.release(loads[rows])
        return found

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return values with continuous noise: for studies, not private."""
        found = np.empty_like(loads)
        for mechanism, rows in self._rows(len(loads)):
            found[rows] = mechanism.simulate(loads[rows], random)
        return found

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the privacy loss of outputs."""
        found = np.empty(len(output))
        pairs = (np.broadcast_to(load, output.shape) for load in (one, other))
        left, right = pairs
        for mechanism, rows in self._rows(len(output)):
            found[rows] = mechanism.loss(output[rows], left[rows], right[rows])
        return found

    def _rows(self, count: int) -> Iterator[tuple[LaplaceMechanism, IntArray]]:
        loads = len(self.ratings.mva)
        if count % loads:
            raise GridveilError(f"{count} loads for the ratings of {loads}")
        starts = np.arange(0, count, loads)
        for mechanism, members in self._groups:
            yield mechanism, (starts[:, None] + members).ravel()

    def guarantee(self) -> Guarantee:
        """Return what it promises; of all distances the least holds for every load."""
        distances = tuple(map(float, self.load_distances))
        return Guarantee(
            self.name,
            float(self.epsilon),
            min(distances),
            L1,
            float(self.step),
            None,
            pairs=_pairs(self.share),
            distances=distances,
        )

    def specification(self) -> dict[str, str]:
        """Return every parameter, the rating of every load in MVA included."""
        return {
            "mechanism": self.name,
            "noise": self.noise,
            "epsilon": str(self.epsilon),
            "share": str(self.share),
            "step": str(self.step),
            "base_mva": str(self.base_mva),
            "source": self.ratings.source,
            "ratings": json.dumps(self.ratings.texts()),
        }

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self | None:
        """Make the mechanism from its specification, which has one spelling."""
        try:
            mva = json.loads(parameters["ratings"])
            ratings = PublicRatings(tuple(exact(v, "rating") for v in mva), parameters["source"])
            made = cls.of(
                parameters["epsilon"],
                parameters["share"],
                ratings,
                parameters["base_mva"],
                parameters["noise"],
                parameters["step"],
            )
        except (GridveilError, KeyError, ValueError, TypeError, RecursionError):
            return None
        of_mechanism = {name: parameters[name] for name in _PARAMETERS}
        return made if made.specification() == of_mechanism else None

    @classmethod
    def checks(cls, stated: StatedProtection) -> Iterator[Claim]:
        """Check promise and metric, and the exact parameters with the ratings."""
        made = cls.from_parameters(stated.parameters)
        if made is None:
            found = f"not readable, or such as {cls.name} cannot have"
            yield claim("parameters", "as in the figures", found, False)
            return
        yield promise_claim(stated, _pairs(made.share))
        without = stated.distance is None and stated.noise_scale_pu is None
        found = "one for each load" if without else "one is stated for all"
        yield claim("distance", "one for each load", found, without)
        yield claim("metric", stated.metric, L1, stated.metric == L1)
        same = (
            has_only_parameters(stated.parameters, set(_PARAMETERS))
            and stated.is_epsilon(made.epsilon)
            and stated.grid_step_pu == float(made.step)
            and stated.base_mva == float(made.base_mva)
            and stated.loads == len(made.ratings.mva)
        )
        shown = ", ".join(f"{name} {made.specification()[name]}" for name in _SHOWN)
        yield claim("parameters", "as in the figures", shown, same)
        why = "only the owner knows where they were published"
        yield stated_claim("ratings", made.ratings.source, why)


def _pairs(share: Fraction) -> str:
    return WITHIN_SHARE.replace("{share}", f"{float(100 * share):g}")
