"""What the ledger is asked and what it answers: owners, charges, accounts, entries."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from gridveil.errors import GridveilError
from gridveil.privacy.metric import Metric

DEFAULT_CAP = Fraction(3)
"""ε that a load may spend in all where no other cap is set."""
LOAD = "load"
"""The kind of an account that is a load."""
_SAID = (
    "release", "register", "network", "charge", "cap", "distance", "metric", "group", "to",
    "reason",
)  # fmt: skip


class BudgetExceededError(GridveilError):
    """A release that would take loads over their cap; nothing was drawn or charged."""


@dataclass(frozen=True)
class Hours:
    """The hours that a release is about, and what each of them loses."""

    first: int
    """Hours since 1970-01-01 00:00 UTC."""
    losses: tuple[Fraction, ...]
    """ε of the first hour and of those that follow."""

    def __post_init__(self) -> None:
        if not self.losses or min(self.losses) < 0:
            raise GridveilError("a release with hours needs a loss for each, none below 0")

    @cached_property
    def parts(self) -> int:
        """The least number whose parts all losses are whole numbers of."""
        return math.lcm(*{loss.denominator for loss in self.losses})

    @cached_property
    def in_parts(self) -> list[int]:
        """The losses in these parts."""
        return [loss.numerator * (self.parts // loss.denominator) for loss in self.losses]

    def times(self, factor: Fraction) -> "Hours":
        """Return the same hours with so many times the losses."""
        return Hours(self.first, tuple(factor * loss for loss in self.losses))


@dataclass(frozen=True)
class Charge:
    """What one release takes of the budget of one account."""

    epsilon: Fraction
    """For all hours of the release together."""
    distance: Fraction | None
    """Two values this far apart are told apart with ε at most; None for any two."""
    metric: Metric = Metric.ABSOLUTE

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or (self.distance is not None and self.distance <= 0):
            raise GridveilError("epsilon and alpha must be above 0")


@dataclass(frozen=True)
class RegisterChoice:
    """Which register the owner says the loads of a network belong to."""

    name: str
    is_new: bool
    """Whether they are other loads than any the ledger knows."""


@dataclass(frozen=True)
class LoadOwner:
    """Whose loads are charged: those of a network, or of one party's part of it. All public."""

    network: str
    """The identity of the whole network."""
    label: str
    """The network's name, for people."""
    base_mva: float
    buses: Sequence[int]
    keys: Sequence[tuple[str, ...]]
    """For each load, the accounts it is the sum of."""
    surroundings: Sequence[frozenset[str]]
    """For each load, the branches at its bus."""
    idle: Sequence[str] = ()
    """Loads that are out of service; they have accounts too."""
    idle_surroundings: Sequence[frozenset[str]] = ()
    """For each of these, the branches at its bus; empty where nothing is known of them."""
    branches: frozenset[str] = frozenset()
    """All branches of the network; those around the loads, where no others are known."""
    is_part: bool = False
    """Whether it is one party's part of the network."""
    register: RegisterChoice | None = None

    def __post_init__(self) -> None:
        keys = [*self.idle, *(key for keys in self.keys for key in keys)]
        for key, count in Counter(keys).items():
            if count > 1:
                raise GridveilError(
                    f"{self.label}: {count} loads are called {key!r}; each needs a name of its own"
                )

    @cached_property
    def around(self) -> dict[str, frozenset[str]]:
        """What stands around each load, by its key."""
        idle = self.idle_surroundings or [frozenset()] * len(self.idle)
        return {
            **dict(zip(self.idle, idle, strict=True)),
            **{
                key: around
                for keys, around in zip(self.keys, self.surroundings, strict=True)
                for key in keys
            },
        }


@dataclass(frozen=True)
class Spending:
    """What a release asks of the budget of which loads."""

    owner: LoadOwner
    charge: Charge
    specification: str
    """Everything that makes the release what it is, as text: the same id needs the same."""
    hours: Hours | None = None
    """None for a snapshot without a date: it counts in every window of hours."""
    floor: Fraction | None = None
    """Of a relative distance: the load in MVA below which it becomes an absolute one."""
    distances: tuple[Fraction, ...] | None = None
    """The distance of each load of the owner, where they differ; that of `charge` is the least."""
    window: int | None = None
    """Within how many hours its promise counts: the first release of a register decides."""

    @property
    def charges(self) -> list[Charge]:
        """What is taken of the budget of each load."""
        if self.distances is None:
            return [self.charge] * len(self.owner.keys)
        of = {distance: replace(self.charge, distance=distance) for distance in self.distances}
        return [of[distance] for distance in self.distances]

    def _of_all_hours(self, hours: Hours) -> Fraction:
        """Return the ε of all hours together: energy may change in any one of them, but once."""
        is_energy = self.charge.metric is Metric.ENERGY
        return max(hours.losses) if is_energy else sum(hours.losses, Fraction(0))

    def __post_init__(self) -> None:
        if self.distances is not None and (
            len(self.distances) != len(self.owner.keys)
            or self.charge.distance != min(self.distances, default=None)
        ):
            raise GridveilError("a distance for each load is needed, and the least of them")
        if self.hours is not None and self._of_all_hours(self.hours) != self.charge.epsilon:
            raise GridveilError("epsilon must be the sum of the losses of all hours")
        is_of_sum = self.charge.metric in (Metric.ABSOLUTE, Metric.ENERGY)
        if not is_of_sum and any(len(keys) > 1 for keys in self.owner.keys):
            raise GridveilError(
                "the slice has the loads of a bus as their sum: a promise in per cent of the sum "
                "says nothing of each. Split the network anew, or give α in MVA"
            )


@dataclass(frozen=True)
class Cap:
    """The most that an account may spend: ε at a distance, within any window of hours."""

    epsilon: Fraction
    distance: Fraction | None
    """None where nothing has a distance yet: the first release decides."""
    hours: int | None
    """The length of the window; None for all hours together. 1 for energy, which may change in
    any hours, but once."""
    floor: Fraction | None = None
    """Of a relative distance: the load in MVA below which it becomes an absolute one."""
    distances_differ: bool = False
    """Whether it is that of a group whose loads are each counted at a distance of their own."""

    def shown(self, metric: Metric) -> str:
        """Return it in words."""
        return f"{float(self.epsilon):g} at {self.counted(metric)}"

    def counted(self, metric: Metric) -> str:
        """Return in words at which distance, and within which hours, a budget is counted."""
        is_windowed = self.hours is not None and metric is not Metric.ENERGY
        window = f" in any {self.hours} hours" if is_windowed else ""
        at = "the distance of each load" if self.distances_differ else metric.shown(self.distance)
        if self.floor is not None:
            at += f", floor {float(self.floor):g} MVA"
        return f"{at}{window}"


@dataclass(frozen=True)
class Account:
    """The budget of one load in one metric, or of a group of loads."""

    register: str
    key: str
    spent: Fraction
    cap: Cap
    releases: int
    metric: Metric = Metric.ABSOLUTE
    kind: str = LOAD
    groups: tuple[str, ...] = field(default=())
    """The groups it belongs to."""

    @property
    def left(self) -> Fraction:
        """What may still be spent, at the distance and in the window of the cap."""
        return self.cap.epsilon - self.spent

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON and frames."""
        distance = self.cap.distance
        return {
            "register": self.register,
            "kind": self.kind,
            "key": self.key,
            "metric": self.metric.value,
            "spent": float(self.spent),
            "cap": float(self.cap.epsilon),
            "distance": None if distance is None else float(distance),
            "floor": None if self.cap.floor is None else float(self.cap.floor),
            "hours": self.cap.hours,
            "left": float(self.left),
            "releases": self.releases,
            "groups": ", ".join(self.groups),
        }


@dataclass(frozen=True)
class Seal:
    """A row of a ledger that a certificate names, so that the ledger cannot be turned back."""

    ledger: str
    """The identity of the ledger, drawn when it was opened."""
    opened_at: str
    row: int
    head: str
    """The hash of that row, which follows from all rows before it."""
    is_first: bool
    """Whether the ledger knew no earlier release of any load."""


@dataclass(frozen=True)
class Entry:
    """What the ledger knows of one release."""

    drawn_at: str
    """Date and time of the draw, UTC."""
    charge: Fraction
    """ε charged to each load, at the distance of its cap."""
    cumulative: Fraction
    """The most any of its loads had spent with this release, earlier ones included."""
    distance: Fraction | None
    """The distance at which that is counted, in MVA or relative."""
    floor: Fraction | None = None
    """The floor of a relative distance, in MVA."""
    distances_differ: bool = False
    """Whether each load is counted at a distance of its own."""
    elsewhere: Mapping[str, Fraction] = field(default_factory=dict)
    """The most that any of its loads had spent in promises of other metrics, by metric."""
    seals: tuple[Seal, ...] = ()
    """The row of the ledger; of several where parties have a ledger each."""


@dataclass(frozen=True)
class Event:
    """A row of the ledger, as its history shows it."""

    row: int
    at: str
    kind: str
    content: dict[str, Any]
    head: str

    def said(self) -> str:
        """Return what people read of its content: no digests, and lists by their length."""
        parts = [f"{key} {self.content[key]}" for key in _SAID if self.content.get(key)]
        if isinstance(self.content.get("loads"), list):
            parts.append(f"{len(self.content['loads'])} loads")
        return ", ".join(parts)
