"""Each play catches the leak it is meant for, and none alarms where there is no leak.

Chances of a wrong result are below one in a million: false alarms by the confidence asked for,
misses because a bound falls to the claim only if far fewer leaks come than are to be expected. At
60,000 trials a raw load once in 5,000 shows 96 times about eight pairs, where 32 times would do;
noise cut off at five scales shows about 140 times about one pair, where 40 would do, and four pairs
must all fail. The other leaks show in every trial, or in every tenth.
"""

from contextlib import nullcontext

import numpy as np
import pytest

from gridveil.privacy.audit import AuditVerdict, audit, run
from gridveil.privacy.audit.residues import LARGEST_MODULUS
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.base import near_pairs
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from tests.privacy.audit import broken

SURE = 1 - 1e-6
BOUNDS = PublicBounds(np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]]), "chosen for this test")
NEAR = near_pairs(0.1)
ONE_STEP = (((0.0, 0.0), (0.0001, 0.0)),)
PLAYS = (
    "likelihood",
    "closeness",
    "residues",
    "support",
    "P against Q",
    "rare events",
    "load against load",
    "order of loads",
    "two calls",
    "two processes",
    "two forks",
)


@pytest.fixture
def one_process(monkeypatch):
    """Without fresh processes, which take longer than everything else."""

    class NoProcesses:
        def draws(self):
            return None, "two processes, two forks: not in this test"

    monkeypatch.setattr(run, "fresh_processes", lambda *_: nullcontext(NoProcesses()))


@pytest.mark.parametrize(
    ("mechanism", "play", "pairs", "trials"),
    [
        # What the audit of 0.2 called consistent, at 60,000 trials:
        (broken.InHundredsProduct, "residues", None, 5_000),
        (broken.InHundredsPolar, "residues", ONE_STEP, 5_000),
        (broken.PublicSeedProduct, "two calls", NEAR[:1], 1_000),
        (broken.PublicSeedPolar, "two calls", NEAR[:1], 1_000),
        (broken.RawNowAndThenProduct, "rare events", None, 60_000),
        (broken.RawNowAndThenPolar, "rare events", None, 60_000),
        (broken.CutOffProduct, "support", NEAR[:1], 60_000),
        (broken.RedrawnProduct, "support", NEAR, 60_000),
        (broken.CutOffPolar, "support", NEAR[:1], 60_000),
        (broken.ShortPolar, "support", NEAR, 60_000),
        # Their relatives:
        (broken.Parity, "residues", ONE_STEP, 5_000),
        (broken.SameForQ, "P against Q", NEAR[:1], 2_000),
        (broken.OppositeForQ, "P against Q", NEAR[:1], 2_000),
        (broken.SameForAllLoads, "load against load", NEAR[:1], 2_000),
        (broken.ComesAgain, "load against load", NEAR[:1], 20_000),
        (broken.AddsTheNextLoad, "load against load", NEAR[:1], 10_000),
        (broken.FirstExact, "order of loads", NEAR[:1], 2_000),
        (broken.LastExact, "order of loads", NEAR[:1], 2_000),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_leaks_are_caught_by_the_play_meant_for_them(one_process, mechanism, play, pairs, trials):
    result = audit(mechanism.of(1, "0.1"), pairs=pairs, trials=trials)
    assert play in result.shown_by
    assert result.verdict is AuditVerdict.BROKEN
    assert play in result.meaning


@pytest.mark.parametrize("mechanism", [broken.Product, broken.Polar])
def test_the_same_mechanisms_without_their_leaks_pass(one_process, mechanism):
    result = audit(mechanism.of(1, "0.1"), trials=20_000, confidence=SURE)
    assert result.shown_by == ()


@pytest.mark.parametrize(
    "mechanism",
    [
        PolarLaplace.of(1, "0.1"),
        Clamped(ProductLaplace.of(1, "0.1"), BOUNDS),
        Piecewise.of(1, "0.1", BOUNDS),
        ProductLaplace.of(5000, "0.1"),
    ],
    ids=["polar", "clamped", "piecewise", "hardly-any-noise"],
)
def test_sound_mechanisms_pass_all_plays(mechanism):
    result = audit(mechanism, trials=1_000, confidence=SURE)
    assert tuple(play.name for play in result.plays) == PLAYS
    assert result.shown_by == ()
    assert not any("left out" in limit for limit in result.not_seen)


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "alpha"),
    [
        ("product-laplace", "1", "1e-9"),
        ("polar-laplace", "1e30", "1e30"),
        ("product-laplace", "1e-8", "0.1"),
        ("piecewise", "300", "1e30"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_extreme_parameters_neither_overflow_nor_alarm(one_process, mechanism, epsilon, alpha):
    result = audit(mechanism, epsilon=epsilon, alpha=alpha, trials=1_000, confidence=SURE)
    assert result.shown_by == ()
    assert np.isfinite(result.epsilon_lower_bound)


def test_the_result_names_every_play_and_what_none_can_see(one_process):
    figures = audit(broken.FirstExact.of(1, "0.1"), pairs=NEAR, trials=2_000).figures()
    assert [play["play"] for play in figures["plays"]] == list(PLAYS[:9])
    shown = {play["play"]: play for play in figures["plays"]}
    assert shown["order of loads"]["broken"]
    assert shown["order of loads"]["epsilon_lower_bound"] > 1
    assert not shown["residues"]["broken"]
    assert shown["two calls"]["epsilon_lower_bound"] is None
    assert shown["two calls"]["found"].endswith(" of 500 draws equal")
    assert f"2 … {LARGEST_MODULUS}" in shown["residues"]["tested"]
    assert "first" in shown["order of loads"]["tested"]
    assert figures["verdict"] == "broken"
    assert figures["meaning"].endswith("shown by: order of loads")
    text = "; ".join(figures["not_seen"])
    for limit in ("fewer than about one in", "seed", "depends on the time", "how long a draw"):
        assert limit in text
    assert "left out here: two processes, two forks: not in this test" in text


def test_what_is_too_rare_to_see_is_stated_as_what_is_caught(one_process):
    """With a tenth of the trials, a leak ten times as common as the one caught above."""
    (rarest, *_) = audit(broken.Product.of(1, "0.1"), pairs=8 * NEAR[:1], trials=6_000).not_seen
    assert 500 < int(rarest.split("one in ")[1].split(" ")[0].replace(",", "")) < 3_000
    (rarest, *_) = audit(broken.Product.of(30, "0.1"), pairs=NEAR[:1], trials=1_000).not_seen
    assert "with so few trials no such bound is above" in rarest


def test_given_pairs_are_the_only_ones(one_process):
    result = audit(broken.Product.of(1, "0.1"), pairs=NEAR[:2], trials=1_000)
    assert [(pair.one, pair.other) for pair in result.pairs] == list(NEAR[:2])
    assert {play.pair for play in result.plays if hasattr(play, "pair")} <= {*NEAR[:2], None}


def test_every_game_is_counted(one_process):
    told = []
    audit(
        broken.Product.of(1, "0.1"),
        pairs=NEAR[:2],
        trials=1_000,
        progress=lambda done, of: told.append((done, of)),
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
