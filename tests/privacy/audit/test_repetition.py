"""Repeated noise: found where it is, and never where it is chance."""

import itertools
import os
from dataclasses import dataclass

import numpy as np
import pytest

from gridveil.privacy.audit import audit
from gridveil.privacy.audit.repetition import ROWS, chance_of_equal_rows
from gridveil.privacy.mechanisms.base import near_pairs
from tests.privacy.audit import broken

PAIRS = near_pairs(0.1)[:1]


def audited(mechanism):
    return audit(mechanism, pairs=PAIRS, trials=1_000)


def test_a_seed_in_the_code_shows_in_fresh_processes():
    """One call continues where the last one ended, so nothing shows in this process."""
    shown = audited(broken.ProcessSeedProduct.of(1, "0.1")).shown_by
    assert "two processes" in shown
    assert "two calls" not in shown


def test_a_state_that_forks_copy_shows_in_forks_alone():
    assert audited(broken.ForkedStateProduct.of(1, "0.1")).shown_by == ("two forks",)


def test_a_class_inside_a_function_reaches_fresh_processes():
    @dataclass(frozen=True)
    class Local(broken.Product):
        def release(self, loads):
            print("this must not spoil the answer")
            return super().release(loads)

    result = audited(Local.of(1, "0.1"))
    assert result.shown_by == ()
    assert [play.name for play in result.plays][-2:] == ["two processes", "two forks"]


def test_plays_that_cannot_be_made_are_named():
    home = os.getpid()

    class Unpicklable(broken.Product):
        def __reduce__(self):
            raise TypeError("no")

    @dataclass(frozen=True)
    class OnlyHere(broken.Product):
        def release(self, loads):
            if os.getpid() != home:
                raise ValueError("not there")
            return super().release(loads)

    for mechanism, why in (
        (Unpicklable, "cannot be pickled (TypeError)"),
        (OnlyHere, "a fresh process failed (gridveil.errors.GridveilError"),
    ):
        result = audited(mechanism.of(1, "0.1"))
        assert result.plays[-1].name == "two calls"
        assert f"left out here: two processes, two forks: {why}" in (
            result.not_seen[-1].replace("the mechanism ", "")
        )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        ([1, 1, 2, 2, 3], [1, 2, 1, 3, 3]),
        ([1, 1, 1, 1, 2], [1, 1, 1, 2, 1]),
        ([1, 2, 3, 4, 5], [6, 7, 8, 9, 1]),
    ],
)
def test_the_chance_is_an_upper_bound(first, second):
    """Against all orders of the second draw's rows, each as likely."""
    first, second = np.array(first), np.array(second)
    orders = [second[list(order)] for order in itertools.permutations(range(5))]
    equal = np.array([(first == order).sum() for order in orders])
    for order, count in zip(orders, equal, strict=True):
        bound = chance_of_equal_rows(*(np.stack([rows, rows], axis=1) for rows in (first, order)))
        assert bound >= (equal >= count).mean() - 1e-12


def test_all_rows_twice_are_no_chance_and_little_noise_is_no_proof():
    rows = np.arange(2 * ROWS).reshape(ROWS, 2)
    assert chance_of_equal_rows(rows, rows) == 0.0
    few = rows.copy()
    few[20:] += 5000
    assert chance_of_equal_rows(rows, few) < 1e-30
    nothing = np.zeros_like(rows)
    assert chance_of_equal_rows(nothing, nothing) == 1.0
