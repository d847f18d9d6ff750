"""All plays against one mechanism, with joint confidence.

The error probability is shared out among the plays, and by each among its pairs and parts
(Bonferroni). Most of it goes to the likelihood, which is best where the claim is true.

At 99 % confidence one sound and tight mechanism in a hundred would be called broken by bad luck. So
a play that breaks the claim is doubted: it is played again with fresh releases, twice, and the
smallest bound counts. A false alarm then comes once in a million audits.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from gridveil.arrays import IntArray
from gridveil.defaults import AUDIT_TRIALS, CALIBRATION
from gridveil.errors import GridveilError
from gridveil.privacy.audit import between_loads, likelihood, players, rare, repetition, residues
from gridveil.privacy.audit.fresh import Draws, FreshProcesses, fresh_processes
from gridveil.privacy.audit.game import Game, Score, play_game
from gridveil.privacy.audit.limits import not_seen
from gridveil.privacy.audit.pairs import GridPair, all_pairs, given_pairs
from gridveil.privacy.audit.result import AuditResult, PairResult, Play, Repetition, weaker
from gridveil.privacy.audit.series import audit_series
from gridveil.privacy.audit.strength import CONFIDENCE, LEAST_TRIALS, MOST_TRIALS, REPLAYS
from gridveil.privacy.audit.subject import audited_mechanism
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.hide import Hide
from gridveil.privacy.mechanisms.base import Mechanism, Pair, check_mechanism
from gridveil.privacy.series.promise import SeriesPromiseKind

_SHARES = {
    likelihood.NAME: 0.80,
    players.CLOSENESS: 0.04,
    residues.NAME: 0.02,
    players.SUPPORT: 0.02,
    players.COMBINATIONS: 0.02,
    rare.NAME: 0.04,
    between_loads.AGAINST: 0.02,
    between_loads.ORDER: 0.02,
    repetition.NAME: 0.02,
}
"""Shares of the error probability (1 − confidence)."""
_PLAYERS: tuple[tuple[str, str, Callable[[Game, float], Score]], ...] = (
    (players.CLOSENESS, players.CLOSENESS_TESTED, players.by_closeness),
    (residues.NAME, residues.TESTED, residues.by_residues),
    (players.SUPPORT, players.SUPPORT_TESTED, players.by_support),
    (players.COMBINATIONS, players.COMBINATIONS_TESTED, players.by_combinations),
)
_MOST_AGAINST = 30_000
"""How many loads of one call are played against each other, at most."""
_TRIALS_PER_CALL = 200
_LEAST_CALLS, _MOST_CALLS = 100, 300
"""How many small calls of each size: each takes longer than its few loads."""

_Kind = TypeVar("_Kind", Play, Repetition)


def audit(
    mechanism: Mechanism | str | None = None,
    *,
    epsilon: Number | None = None,
    hide: Hide | str | None = None,
    alpha: Number | None = None,
    floor: Number | None = None,
    rating: Number | None = None,
    promise: SeriesPromiseKind | str | None = None,
    calibration: str = CALIBRATION,
    pairs: Sequence[Pair] | None = None,
    trials: int = AUDIT_TRIALS,
    confidence: float = CONFIDENCE,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Bound a mechanism's true ε from below by playing against its exact sampler.

    Args:
        mechanism: A name of the registry, or a mechanism. None takes the one that hides what is
            asked for, and product-laplace where nothing is.
        epsilon: The ε that is claimed; of a mechanism given as an object its own if None.
        hide: The change of a load for which it is claimed: "10%", "5MVA" on a base of 100 MVA, or
            "20%rating". Of a promise about series "5%rating" of 100 MVA or "5MVA".
        alpha: The same in p.u., for a mechanism whose distance is one.
        floor: For hide in per cent: the load in MVA below which it turns into a fixed amount,
            0.25 MVA if None.
        rating: For hide in per cent of a rating: that of the audit's loads, in MVA.
        promise: Play about load series and this promise, "day", "energy" or "window"; they have one
            mechanism.
        calibration: Of a mechanism given by name that has several.
        pairs: Pairs of loads to tell apart; the mechanism's own, and pairs one grid step apart
            and α and one grid step apart, if None.
        trials: Releases per pair.
        confidence: Of all bounds together.
        progress: Called with how many games are done, and of how many.

    Example:
        >>> from gridveil import audit
        >>> result = audit("product-laplace", epsilon=1, alpha=0.1, trials=20_000)
        >>> result.epsilon_lower_bound < 1
        True
        >>> result.shown_by
        ()
    """
    if trials < LEAST_TRIALS:
        raise GridveilError(f"trials: {trials} is too few to learn anything; use {LEAST_TRIALS}")
    if trials > MOST_TRIALS:
        raise GridveilError(f"trials: {trials} is too many; use at most {MOST_TRIALS}")
    if not 0 < confidence < 1:
        raise GridveilError(f"confidence: {confidence} must be above 0 and below 1")
    if promise is not None:
        if (mechanism, alpha, floor, rating, calibration, pairs) != (
            *[None] * 4,
            CALIBRATION,
            None,
        ):
            raise GridveilError(
                "promise is about series, which have one mechanism: drop mechanism, alpha, floor, "
                "rating, calibration and pairs"
            )
        kind = promise.value if isinstance(promise, SeriesPromiseKind) else promise
        return audit_series(kind, epsilon=epsilon, hide=hide, trials=trials, confidence=confidence)
    if isinstance(mechanism, str | None):
        mechanism = audited_mechanism(mechanism, calibration, epsilon, hide, alpha, floor, rating)
    elif (hide, alpha, floor, rating, calibration) != (None, None, None, None, CALIBRATION):
        raise GridveilError(
            "hide, alpha, floor, rating, calibration: a mechanism given as an object has its own"
        )
    check_mechanism(mechanism)
    if mechanism.guarantee().delta > 0:
        raise GridveilError("audit: the game bounds ε where δ is 0; this mechanism has another δ")
    claimed = mechanism.guarantee().epsilon if epsilon is None else float(exact(epsilon, "epsilon"))
    games = all_pairs(mechanism) if pairs is None else given_pairs(mechanism, pairs)
    if not games:
        raise GridveilError("pairs: at least one pair of loads is needed")
    return _Audit(mechanism, claimed, games, trials, confidence, progress).result()


@dataclass(frozen=True)
class _Audit:
    """One mechanism, one claim, and what is played about it."""

    mechanism: Mechanism
    claimed: float
    pairs: tuple[GridPair, ...]
    trials: int
    confidence: float
    progress: Callable[[int, int], None] | None

    def result(self) -> AuditResult:
        """Play everything; fresh processes draw meanwhile."""
        with self._fresh_processes() as fresh:
            about_pairs = self._about_pairs()
            about_loads = self._believed(self._about_loads, self._about_loads())
            self._done(len(self.pairs) + 1)
            found, left_out = fresh.draws()
        repeated = self._believed(self._repeated_afresh, self._repeated(found))
        self._done(len(self.pairs) + 2)
        plays: tuple[Play | Repetition, ...] = (
            *_best_of_each(about_pairs),
            *about_loads,
            *repeated,
        )
        guesses, error = self.trials * len(self.pairs), self._error(rare.NAME) / rare.PARTS
        return AuditResult(
            self.mechanism.name,
            self.claimed,
            max(play.epsilon_lower_bound for play in plays if isinstance(play, Play)),
            self.confidence,
            self.trials,
            tuple(_best_about(pair.shown, about_pairs) for pair in self.pairs),
            plays,
            not_seen(self.claimed, guesses, error, left_out),
            self.mechanism.guarantee().caution,
        )

    def _believed(
        self, play: Callable[[], tuple[_Kind, ...]], found: tuple[_Kind, ...]
    ) -> tuple[_Kind, ...]:
        """Return plays; those that break the claim are doubted, and must do so again and again."""
        for _ in range(REPLAYS):
            if not any(one.breaks(self.claimed) for one in found):
                break
            again = {one.name: one for one in play()}
            found = tuple(
                weaker(one, again.get(one.name, one)) if one.breaks(self.claimed) else one
                for one in found
            )
        return found

    def _about_pairs(self) -> tuple[Play, ...]:
        """Play with all players about each pair, and about rare events of all pairs together."""
        plays: list[Play] = []
        events = np.zeros((rare.PARTS, 2), dtype=np.int64)
        for i, pair in enumerate(self.pairs):
            game = self._game(pair)
            found = tuple(self._with_players(pair, game))
            plays += self._believed(partial(self._with_players_again, pair), found)
            events += rare.count_events(game)
            self._done(i + 1)
        return (*plays, *self._believed(self._rare_again, self._rare(events)))

    def _game(self, pair: GridPair) -> Game:
        return play_game(self.mechanism, pair.one, pair.other, self.trials)

    def _with_players(self, pair: GridPair, game: Game) -> Iterator[Play]:
        loss = self.mechanism.loss(game.outputs, pair.one, pair.other)
        error = self._error(likelihood.NAME) / len(self.pairs)
        score = likelihood.by_likelihood(loss, game.coins, self.claimed, error)
        yield _play(likelihood.NAME, likelihood.TESTED, score, pair.shown)
        for name, tested, player in _PLAYERS:
            score = player(game, self._error(name) / len(self.pairs))
            yield _play(name, tested, score, pair.shown)

    def _with_players_again(self, pair: GridPair) -> tuple[Play, ...]:
        return tuple(self._with_players(pair, self._game(pair)))

    def _rare(self, events: IntArray) -> tuple[Play, ...]:
        score = rare.by_rare_events(events, self._error(rare.NAME))
        return (_play(rare.NAME, rare.TESTED, score),)

    def _rare_again(self) -> tuple[Play, ...]:
        counts = [rare.count_events(self._game(pair)) for pair in self.pairs]
        return self._rare(np.sum(counts, axis=0))

    def _about_loads(self) -> tuple[Play, ...]:
        """Play about several loads of a call, with the first pair."""
        one, other = self.pairs[0].one, self.pairs[0].other
        against = between_loads.against_loads(
            self.mechanism,
            one,
            other,
            min(self.trials // 2, _MOST_AGAINST),
            self._error(between_loads.AGAINST),
        )
        calls = min(max(self.trials // _TRIALS_PER_CALL, _LEAST_CALLS), _MOST_CALLS)
        order = between_loads.in_order(
            self.mechanism, one, other, calls, self._error(between_loads.ORDER)
        )
        return (
            _play(between_loads.AGAINST, between_loads.AGAINST_TESTED, against),
            _play(between_loads.ORDER, between_loads.ORDER_TESTED, order),
        )

    def _repeated(self, fresh: Draws | None) -> tuple[Repetition, ...]:
        load, error = self.pairs[0].one, self._error(repetition.NAME)
        return repetition.repetitions(self.mechanism, load, fresh, error)

    def _repeated_afresh(self) -> tuple[Repetition, ...]:
        with self._fresh_processes() as fresh:
            return self._repeated(fresh.draws()[0])

    def _fresh_processes(self) -> AbstractContextManager[FreshProcesses]:
        return fresh_processes(self.mechanism, self.pairs[0].one, repetition.ROWS)

    def _error(self, name: str) -> float:
        return (1 - self.confidence) * _SHARES[name]

    def _done(self, games: int) -> None:
        if self.progress is not None:
            self.progress(games, len(self.pairs) + 2)


def _play(name: str, tested: str, score: Score, pair: Pair | None = None) -> Play:
    return Play(name, tested, score.hits, score.guesses, score.bound, pair)


def _best_of_each(plays: Sequence[Play]) -> Iterator[Play]:
    """Yield each play with the pair at which it found most."""
    for name in dict.fromkeys(play.name for play in plays):
        same = [play for play in plays if play.name == name]
        yield max(same, key=lambda play: play.epsilon_lower_bound)


def _best_about(pair: Pair, plays: Sequence[Play]) -> PairResult:
    same = [play for play in plays if play.pair == pair]
    best = max(same, key=lambda play: play.epsilon_lower_bound)
    return PairResult(*pair, best.hits, best.guesses, best.epsilon_lower_bound)
