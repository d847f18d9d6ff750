"""A claim of a published document, and what a check of it found."""

import math
from dataclasses import dataclass
from enum import Enum


class ClaimVerdict(Enum):
    """What a check of a claim found; the value is how to say it."""

    HOLDS = "holds"
    BROKEN = "DOES NOT HOLD"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Claim:
    """One claim, what was found, and whether the two agree."""

    name: str
    claimed: str
    found: str
    verdict: ClaimVerdict

    @property
    def ok(self) -> bool:
        """Whether it was checked and holds."""
        return self.verdict is ClaimVerdict.HOLDS


def claim(name: str, claimed: str, found: str, ok: bool) -> Claim:
    """Return a claim that was checked."""
    return Claim(name, claimed, found, ClaimVerdict.HOLDS if ok else ClaimVerdict.BROKEN)


def unchecked(name: str, claimed: str, why: str) -> Claim:
    """Return a claim that could not be checked here."""
    return Claim(name, claimed, f"not checked: {why}", ClaimVerdict.UNCHECKED)


def number_claim(name: str, claimed: float, found: float, tolerance: float) -> Claim:
    """Compare two numbers, to a relative tolerance (absolute below 1)."""
    near = bool(abs(claimed - found) <= tolerance * max(1.0, abs(found)))
    ok = near and math.isfinite(found)  # everything is near to infinity
    return claim(name, f"{claimed:.10g}", f"{found:.10g}", ok)
