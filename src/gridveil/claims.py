"""A claim of a published document, and what a check of it found."""

import math
from dataclasses import dataclass
from enum import Enum


class ClaimVerdict(Enum):
    """What a check of a claim found; the value is how to say it."""

    RECOMPUTED = "recomputed"
    """It was computed again, and is the same."""
    PROVED = "proved"
    """It follows from recomputed parameters by a theorem."""
    STATED = "stated"
    """Nobody but the owner can know; it contradicts nothing."""
    BROKEN = "DOES NOT HOLD"
    UNCHECKED = "not checked"

    @property
    def ok(self) -> bool:
        """Whether the claim may be relied on, as far as its kind goes."""
        return self not in (ClaimVerdict.BROKEN, ClaimVerdict.UNCHECKED)


@dataclass(frozen=True)
class Claim:
    """One claim, what was found, and whether the two agree."""

    name: str
    claimed: str
    found: str
    verdict: ClaimVerdict

    @property
    def ok(self) -> bool:
        """Whether it holds, as far as it can be known."""
        return self.verdict.ok


def claim(name: str, claimed: str, found: str, ok: bool) -> Claim:
    """Return a claim that was computed again."""
    return Claim(name, claimed, found, ClaimVerdict.RECOMPUTED if ok else ClaimVerdict.BROKEN)


def proved(name: str, claimed: str, theorem: str) -> Claim:
    """Return a claim that follows from recomputed parameters by a theorem."""
    return Claim(name, claimed, theorem, ClaimVerdict.PROVED)


def stated(name: str, claimed: str, why: str) -> Claim:
    """Return a claim that nobody but the owner can know, and why."""
    return Claim(name, claimed, why, ClaimVerdict.STATED)


def unchecked(name: str, claimed: str, why: str) -> Claim:
    """Return a claim that could not be checked here."""
    return Claim(name, claimed, f"not checked: {why}", ClaimVerdict.UNCHECKED)


def number_claim(
    name: str, claimed: float, found: float, tolerance: float, absolute: float = 0.0
) -> Claim:
    """Compare two numbers, to a relative tolerance, or to an absolute one if that is larger."""
    near = bool(abs(claimed - found) <= max(tolerance * abs(found), absolute))
    ok = near and math.isfinite(found)  # everything is near to infinity
    return claim(name, f"{claimed:.10g}", f"{found:.10g}", ok)
