"""What an audit found: every play, the verdict, and what no play can see."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from gridveil.privacy.mechanisms.base import Pair

POWER = 0.9
"""An honest audit of a tight mechanism reaches this share of the claim."""


class AuditVerdict(Enum):
    """What an audit found; the value is how to say it."""

    BROKEN = "BROKEN: the mechanism gives away more than it claims"
    CONSISTENT = "consistent: no play found more than claimed, and one found little less"
    WEAK = (
        "no play found more than claimed, but none got near the claim either: the audit proves "
        "little"
    )


@dataclass(frozen=True)
class PairResult:
    """The best play about one pair of loads, in p.u.: right guesses, all guesses, and the bound."""

    one: tuple[float, float]
    other: tuple[float, float]
    hits: int
    guesses: int
    epsilon_lower_bound: float


@dataclass(frozen=True)
class Play:
    """A guessing game: what was tested, right guesses, all guesses, and the bound on ε."""

    name: str
    tested: str
    hits: int
    guesses: int
    epsilon_lower_bound: float
    pair: Pair | None = None
    """In p.u.; None for a play that is not about one pair."""

    @property
    def found(self) -> str:
        """What it showed, in words."""
        about = f" about {self.pair[0]} or {self.pair[1]} p.u." if self.pair else ""
        return (
            f"{self.hits:,} of {self.guesses:,} guesses right{about}, so ε ≥ "
            f"{self.epsilon_lower_bound:.3f}"
        )

    def breaks(self, claimed: float) -> bool:
        """Return whether it shows that a claim is false."""
        return self.epsilon_lower_bound > claimed


@dataclass(frozen=True)
class Repetition:
    """A comparison of two draws: equal rows of all, and how likely so many are by chance."""

    name: str
    tested: str
    equal: int
    rows: int
    chance: float
    """At most."""
    repeats: bool
    """Whether the chance is too small to be one."""

    @property
    def found(self) -> str:
        """What it showed, in words."""
        repeated = f": the noise repeats (by chance: {self.chance:.0e} at most)"
        return f"{self.equal:,} of {self.rows:,} draws equal{repeated if self.repeats else ''}"

    def breaks(self, _claimed: float) -> bool:
        """Return whether noise repeats, which no claim allows."""
        return self.repeats


_Kind = TypeVar("_Kind", Play, Repetition)


def weaker(first: _Kind, second: _Kind) -> _Kind:
    """Return which of two results of the same play shows less."""
    if isinstance(first, Play) and isinstance(second, Play):
        return first if first.epsilon_lower_bound <= second.epsilon_lower_bound else second
    return first if first.chance >= second.chance else second


@dataclass(frozen=True)
class AuditResult:
    """The largest lower bound over all plays, with joint confidence, and every play."""

    mechanism: str
    epsilon_claimed: float
    epsilon_lower_bound: float
    confidence: float
    trials: int
    """Releases per pair."""
    pairs: tuple[PairResult, ...]
    plays: tuple[Play | Repetition, ...]
    """Each with the pair at which it found most."""
    not_seen: tuple[str, ...]
    """What these plays, or any that only see outputs, cannot find."""
    caution: str = ""
    """What a user of the mechanism must know, if anything."""

    @property
    def shown_by(self) -> tuple[str, ...]:
        """The plays that show the mechanism to be broken."""
        return tuple(play.name for play in self.plays if play.breaks(self.epsilon_claimed))

    @property
    def verdict(self) -> AuditVerdict:
        """What that means."""
        if self.shown_by:
            return AuditVerdict.BROKEN
        if self.epsilon_lower_bound < POWER * self.epsilon_claimed:
            return AuditVerdict.WEAK
        return AuditVerdict.CONSISTENT

    @property
    def meaning(self) -> str:
        """The verdict as a sentence, which names the plays that show it or that were played."""
        if self.shown_by:
            return f"{self.verdict.value}; shown by: {', '.join(self.shown_by)}"
        return f"{self.verdict.value}; played: {', '.join(play.name for play in self.plays)}"

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "mechanism": self.mechanism,
            "epsilon_claimed": self.epsilon_claimed,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "confidence": self.confidence,
            "trials": self.trials,
            "verdict": self.verdict.name.lower(),
            "meaning": self.meaning,
            "plays": [_figures(play, self.epsilon_claimed) for play in self.plays],
            "not_seen": list(self.not_seen),
        }


def _figures(play: Play | Repetition, claimed: float) -> dict[str, Any]:
    return {
        "play": play.name,
        "tested": play.tested,
        "found": play.found,
        "epsilon_lower_bound": play.epsilon_lower_bound if isinstance(play, Play) else None,
        "broken": play.breaks(claimed),
    }
