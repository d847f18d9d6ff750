"""The game about series finds what a broken mechanism gives away, and no more of a sound one."""

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.audit import audit
from gridveil.privacy.audit.result import AuditVerdict
from gridveil.privacy.audit.series import (
    audit_series,
    audit_series_mechanism,
    audited_series_mechanism,
    series_pairs,
)
from gridveil.privacy.series.mechanism import SeriesMechanism


@pytest.mark.parametrize("promise", ["day", "window"])
def test_a_sound_mechanism_is_played_to_nearly_its_claim(promise):
    found = audit_series(promise, trials=6000)
    assert found.verdict is not AuditVerdict.BROKEN
    assert 0.75 <= found.epsilon_lower_bound <= 1  # 0.95 with more trials
    assert "series-laplace" in found.mechanism


def test_energy_is_played_to_nearly_its_claim():
    found = audit_series("energy", trials=4000)
    assert 0.75 <= found.epsilon_lower_bound <= 1


class HalfTheNoise(SeriesMechanism):
    """Draws half the noise that it claims."""

    def release(self, steps):
        exact = self.coefficients(steps)
        return exact + (super().release(steps) - exact) // 2


class RepeatedNoise(SeriesMechanism):
    """Draws the same noise for P and Q."""

    def release(self, steps):
        drawn, exact = super().release(steps), self.coefficients(steps)
        noise = (drawn - exact)[:, :1]
        return exact + np.repeat(noise, 2, axis=1)


def broken(kind, promise="window", coefficients=1):
    sound = audited_series_mechanism(promise, 1, None, coefficients)
    return kind(*(getattr(sound, name) for name in sound.__dataclass_fields__))


def test_half_the_noise_is_found():
    found = audit_series_mechanism(broken(HalfTheNoise), trials=4000)
    assert found.verdict is AuditVerdict.BROKEN


def test_the_same_noise_on_p_and_q_is_found():
    found = audit_series_mechanism(broken(RepeatedNoise), trials=4000)
    assert found.verdict is AuditVerdict.BROKEN
    assert "P against Q" in found.shown_by


def test_pairs_are_neighbours_of_the_promise():
    for promise, coefficients in (("day", 3), ("window", 2), ("energy", 1)):
        made = audited_series_mechanism(promise, 1, "5MVA", coefficients)
        for pair in series_pairs(made):
            moved = np.abs(pair.one - pair.other)[0].sum(axis=0)
            if promise == "energy":
                assert moved.sum() <= made.alpha_steps
            else:
                hours = np.flatnonzero(moved)
                assert moved.max() == made.alpha_steps
                assert hours.max() - hours.min() < (24 if promise == "day" else 4)
            assert np.abs(made.loss(made.coefficients(pair.one), pair.one, pair.other)) <= 1


def test_what_cannot_be_played_is_refused():
    with pytest.raises(GridveilError, match="there are energy, day, window"):
        audit_series("week")
    with pytest.raises(GridveilError, match="trials"):
        audit_series("day", trials=10)
    with pytest.raises(GridveilError, match="coefficients"):
        audit_series("day", coefficients=9)


def test_audit_takes_a_promise_in_place_of_a_mechanism():
    found = audit(promise="window", epsilon="0.5", hide="5MVA", trials=2000)
    assert found.epsilon_claimed == 0.5
    assert "(window)" in found.mechanism
    for other in ({"mechanism": "polar-laplace"}, {"alpha": "0.1"}, {"rating": 5}):
        with pytest.raises(GridveilError, match="promise is about series"):
            audit(promise="day", **other)
