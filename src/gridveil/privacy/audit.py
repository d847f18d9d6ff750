"""A guessing game against the sampler in use, which bounds its true ε from below.

One of two loads at distance α is picked by a fair coin and released; the player, who knows both,
guesses which it was, but only where the output makes it sure enough. Under ε-differential privacy
a guess is right with probability at most e^ε/(1 + e^ε), whatever the output. So if it is right more
often, ε must be larger: ε ≥ ln(h/(1 − h)), with h the Clopper-Pearson lower bound of the hit rate.

At 99 % confidence one sound and tight mechanism in a hundred would be called broken by bad luck. So
a bound above the claim is doubted: the game is played again with fresh releases, twice, and the
smallest bound counts. A false alarm then comes once in a million audits.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from scipy.special import betaincinv

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.defaults import ALPHA, AUDIT_TRIALS, CALIBRATION, EPSILON, MECHANISM
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.mechanisms.base import Mechanism, Pair, check_mechanism
from gridveil.privacy.mechanisms.registry import make_mechanism
from gridveil.privacy.sampling.grid import to_grid

CONFIDENCE = 0.99
POWER = 0.9
"""An honest audit of a tight mechanism reaches this share of the claim."""
REPLAYS = 2
"""How often a bound above the claim is played again before it is believed."""
LEAST_TRIALS, MOST_TRIALS = 1000, 100_000_000
_PILOT_SHARE = 0.15
_CLOSENESS_SHARE = 0.1
"""Share of the error probability (1 − confidence) given to the second player."""
_KEPT_SHARES = np.geomspace(0.003, 1.0, 40)


class AuditVerdict(Enum):
    """What an audit found; the value is how to say it."""

    BROKEN = "BROKEN: the mechanism gives away more than it claims"
    CONSISTENT = "consistent: no more than claimed was found, and little less"
    WEAK = "no more than claimed was found, but the audit got far from the claim: it proves little"


@dataclass(frozen=True)
class PairResult:
    """The game for one pair of loads, in p.u.: right guesses, all guesses, and the bound."""

    one: tuple[float, float]
    other: tuple[float, float]
    hits: int
    guesses: int
    epsilon_lower_bound: float


@dataclass(frozen=True)
class AuditResult:
    """The largest lower bound over all pairs, with joint confidence."""

    mechanism: str
    epsilon_claimed: float
    epsilon_lower_bound: float
    confidence: float
    trials: int
    """Releases per pair."""
    pairs: tuple[PairResult, ...]
    caution: str = ""
    """What a user of the mechanism must know, if anything."""

    @property
    def verdict(self) -> AuditVerdict:
        """What that means."""
        if self.epsilon_lower_bound > self.epsilon_claimed:
            return AuditVerdict.BROKEN
        if self.epsilon_lower_bound < POWER * self.epsilon_claimed:
            return AuditVerdict.WEAK
        return AuditVerdict.CONSISTENT

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "mechanism": self.mechanism,
            "epsilon_claimed": self.epsilon_claimed,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "confidence": self.confidence,
            "trials": self.trials,
            "verdict": self.verdict.name.lower(),
            "meaning": self.verdict.value,
        }


def audit_bounds() -> PublicBounds:
    """Return public bounds for loads of the audit's own, which no network has."""
    low, high = np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]])
    return PublicBounds(low, high, "chosen for the audit, for loads of its own")


def audit(
    mechanism: Mechanism | str = MECHANISM,
    *,
    epsilon: Number | None = None,
    alpha: Number | None = None,
    calibration: str = CALIBRATION,
    pairs: Sequence[Pair] | None = None,
    trials: int = AUDIT_TRIALS,
    confidence: float = CONFIDENCE,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Bound a mechanism's true ε from below by playing against its exact sampler.

    Args:
        mechanism: A name of the registry, or a mechanism.
        epsilon: The ε that is claimed; of a mechanism given as an object its own if None.
        alpha: The distance α in p.u. for which it is claimed, for a mechanism given by name.
        calibration: Of a mechanism given by name that has several.
        pairs: Pairs of loads to tell apart; the mechanism's own if None.
        trials: Releases per pair.
        confidence: Of the bound, over all pairs together.
        progress: Called with how many pairs are done, and of how many.

    Example:
        >>> from gridveil import audit
        >>> result = audit("product-laplace", epsilon=1, alpha=0.1, trials=20_000)
        >>> result.epsilon_lower_bound < 1
        True
    """
    if trials < LEAST_TRIALS:
        raise GridveilError(f"trials: {trials} is too few to learn anything; use {LEAST_TRIALS}")
    if trials > MOST_TRIALS:
        raise GridveilError(f"trials: {trials} is too many; use at most {MOST_TRIALS}")
    if isinstance(mechanism, str):
        epsilon = EPSILON if epsilon is None else epsilon
        mechanism = make_mechanism(
            mechanism,
            epsilon,
            ALPHA if alpha is None else alpha,
            calibration=calibration,
            bounds=audit_bounds(),
        )
    elif alpha is not None or calibration != CALIBRATION:
        raise GridveilError("alpha, calibration: a mechanism given as an object has its own")
    check_mechanism(mechanism)
    if mechanism.guarantee().delta > 0:
        raise GridveilError("audit: the game bounds ε where δ is 0; this mechanism has another δ")
    claimed = mechanism.guarantee().epsilon if epsilon is None else float(exact(epsilon, "epsilon"))
    games = mechanism.audit_pairs() if pairs is None else pairs
    result = _play_all(mechanism, claimed, games, trials, confidence, progress)
    for _ in range(REPLAYS):
        if result.verdict is not AuditVerdict.BROKEN:
            break
        again = _play_all(mechanism, claimed, games, trials, confidence, progress)
        result = min(result, again, key=lambda game: game.epsilon_lower_bound)
    return replace(result, caution=mechanism.guarantee().caution)


def _play_all(
    mechanism: Mechanism,
    epsilon: float,
    pairs: Sequence[Pair],
    trials: int,
    confidence: float,
    progress: Callable[[int, int], None] | None,
) -> AuditResult:
    """Play once for every pair, with joint confidence."""
    error = (1 - confidence) / len(pairs)  # Bonferroni
    results = []
    for i, (one, other) in enumerate(pairs):
        points = to_grid(np.array([one, other]), mechanism.step)
        hits, guesses, bound = _play(mechanism, epsilon, points[0], points[1], trials, error)
        results.append(PairResult(one, other, hits, guesses, bound))
        if progress is not None:
            progress(i + 1, len(pairs))
    best = max(result.epsilon_lower_bound for result in results)
    return AuditResult(mechanism.name, epsilon, best, confidence, trials, tuple(results))


def _play(
    mechanism: Mechanism,
    claimed: float,
    one: IntArray,
    other: IntArray,
    trials: int,
    error: float,
) -> tuple[int, int, float]:
    """Return hits, guesses and the bound on ε of the better of two players.

    They share the error probability. The first goes by the likelihood, as the proof has it, and
    takes most of it: it is best if the claim is true. The second goes by plain closeness, which
    does not rely on the proof.
    """
    coins = np.frombuffer(os.urandom(trials), np.uint8) < 128
    outputs = mechanism.release(np.where(coins[:, None], one, other))
    near, far = (np.hypot(*(outputs - load).T.astype(float)) for load in (one, other))
    closeness = np.sign(far - near) / (1 + np.minimum(near, far))
    players = (
        (_by_likelihood, mechanism.loss(outputs, one, other), (1 - _CLOSENESS_SHARE) * error),
        (_by_closeness, closeness, _CLOSENESS_SHARE * error),
    )
    games = []
    for play, statistic, share in players:
        hits, guesses = play(statistic, coins, claimed, share)
        games.append((hits, guesses, _bound(hits, guesses, share)))
    return max(games, key=lambda game: game[2])


def _by_likelihood(
    loss: FloatArray, coins: BoolArray, claimed: float, error: float
) -> tuple[int, int]:
    """Guess where the loss is largest: how large is settled by the claim, without seeing hits."""
    strength = np.abs(loss)
    best, chosen = -np.inf, 0.0
    for share in _KEPT_SHARES:
        threshold = _least_kept(strength, share)
        sure = np.minimum(strength[strength >= threshold], claimed)
        expected = float((1 / (1 + np.exp(-sure))).sum())
        bound = _bound(expected, len(sure), error)
        if bound > best:
            best, chosen = bound, threshold
    return _count(loss, coins, chosen)


def _by_closeness(
    closeness: FloatArray, coins: BoolArray, _claimed: float, error: float
) -> tuple[int, int]:
    """Guess where an output is close to a load: how close is settled on a pilot, then left out."""
    pilot = int(len(coins) * _PILOT_SHARE)
    tried, kept = (closeness[:pilot], coins[:pilot]), (closeness[pilot:], coins[pilot:])
    thresholds = [_least_kept(np.abs(tried[0]), share) for share in _KEPT_SHARES]
    # A leak may also show as outputs that are close to the *other* load: try both ways round.
    choices = [(sign, threshold) for sign in (1, -1) for threshold in thresholds]
    bounds = [_bound(*_count(sign * tried[0], tried[1], t), error) for sign, t in choices]
    sign, threshold = choices[int(np.argmax(bounds))]
    return _count(sign * kept[0], kept[1], threshold)


def _least_kept(strength: FloatArray, share: float) -> float:
    """Return the threshold that keeps a share of the strongest, all equal ones included."""
    return float(np.quantile(strength, 1 - share)) * (1 - 1e-12)


def _count(statistic: FloatArray, coins: BoolArray, threshold: float) -> tuple[int, int]:
    guessed = (np.abs(statistic) >= threshold) & (statistic != 0)
    right = guessed & ((statistic > 0) == coins)
    return int(right.sum()), int(guessed.sum())


def _bound(hits: float, guesses: float, error: float) -> float:
    """Return ln(h/(1 − h)) for the Clopper-Pearson lower bound h, at least 0."""
    if hits <= 0:
        return 0.0
    rate = float(betaincinv(hits, guesses - hits + 1, error))
    return max(0.0, float(np.log(rate / (1 - rate))))
