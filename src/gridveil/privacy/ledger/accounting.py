"""What several releases of a load tell together: the rules, as pure functions.

Within one metric a release with ε at distance α loses at most ε·max(1, d/α) about two values that
are d apart, and ε about any two where α is unbounded. Losses of releases of the same hours add up
(sequential composition). Two series that differ within a window of hours alone differ for no
release of other hours, so these lose nothing (parallel composition). A snapshot without a date may
be of any hour, and counts in every window. Hence, for values d apart within any window of w hours:

    loss ≤ Σ ε_r·max(1, d/α_r) + max over windows W of Σ_{t in W} Σ_s ℓ_s(t)·max(1, d/α_s)

with r the releases without a date and s those with hourly losses ℓ_s. Losses in different metrics
are never added: each metric has a sum and a cap of its own. Of a group, whose values may all change
at once, the losses of all members add up.

Energy is a distance of all hours together: a change of d that is shared out among hours loses a
mean of their losses, so the worst single hour counts, w = 1. Members of a group may change in hours
of their own each, so the worst hours of all of them add up.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from gridveil.privacy.ledger.records import Hours

_Loss = TypeVar("_Loss", int, Fraction)


@dataclass(frozen=True)
class DatedLoss:
    """Hourly losses of one release, at its distance."""

    hours: Hours
    distance: Fraction | None


@dataclass(frozen=True, eq=False)
class Spent:
    """All that one account has spent in one metric; accounts that spent the same share one."""

    undated: Mapping[Fraction | None, Fraction]
    """The sum of ε by distance, of snapshots without a date."""
    dated: Sequence[DatedLoss] = ()

    def at(self, distance: Fraction | None, hours: int | None) -> Fraction:
        """Return the loss at a distance, within the worst window of so many hours.

        Args:
            distance: How far two values may be apart; None only where every release holds for any.
            hours: The length of the window; None for all hours together.
        """
        snapshots = sum(
            (epsilon * slope(at, distance) for at, epsilon in self.undated.items()), Fraction(0)
        )
        whole, parts = hourly(self.dated, distance)
        return snapshots + worst_window(whole, hours) / Fraction(parts)

    def counted_at(self, distance: Fraction | None) -> "Spent":
        """Return the same as losses that hold at that distance, whatever others are counted at."""
        undated = sum(
            (epsilon * slope(at, distance) for at, epsilon in self.undated.items()), Fraction(0)
        )
        return Spent(
            {None: undated} if undated else {},
            [DatedLoss(one.hours.times(slope(one.distance, distance)), None) for one in self.dated],
        )

    def counted_at_worst_hour(self, distance: Fraction | None) -> "Spent":
        """Return the loss of the worst hour as one without hours: others may have another one."""
        worst = self.at(distance, 1)
        return Spent({None: worst} if worst else {})


def together(members: Iterable[Spent]) -> Spent:
    """Return what the members of a group have spent, all of them together."""
    undated: dict[Fraction | None, Fraction] = {}
    dated: list[DatedLoss] = []
    for member in members:
        for distance, epsilon in member.undated.items():
            undated[distance] = undated.get(distance, Fraction(0)) + epsilon
        dated.extend(member.dated)
    return Spent(undated, dated)


def slope(own: Fraction | None, asked: Fraction | None) -> Fraction:
    """Return by what to multiply ε at its own distance for the loss at another; never below 1."""
    if own is None:
        return Fraction(1)
    if asked is None:
        raise ValueError("a loss that grows with the distance is asked for at any distance")
    return max(Fraction(1), asked / own)


def hourly(dated: Iterable[DatedLoss], distance: Fraction | None) -> tuple[dict[int, int], int]:
    """Return the loss of every hour at a distance, all releases added up, and in parts of what.

    Whole numbers of a common part: sums of fractions would take long for a year of many loads.
    """
    factors: dict[int, Fraction] = {}  # of the same hours, which many loads share
    hours: dict[int, Hours] = {}
    for one in dated:
        key = id(one.hours)
        hours[key] = one.hours
        factors[key] = factors.get(key, Fraction(0)) + slope(one.distance, distance)
    parts = math.lcm(*(factor.denominator * hours[key].parts for key, factor in factors.items()))
    total: dict[int, int] = {}
    for key, factor in factors.items():
        times = int(factor * parts / hours[key].parts)
        for hour, loss in enumerate(hours[key].in_parts, hours[key].first):
            total[hour] = total.get(hour, 0) + times * loss
    return total, parts


def worst_window(losses: Mapping[int, _Loss], hours: int | None) -> _Loss | int:
    """Return the largest sum of losses within so many consecutive hours."""
    if hours is None or not losses:
        return sum(losses.values())
    worst: _Loss | int = 0
    inside: Any = 0
    order = sorted(losses)
    first = 0
    for hour in order:
        inside += losses[hour]
        while order[first] <= hour - hours:
            inside -= losses[order[first]]
            first += 1
        worst = max(worst, inside)
    return worst
