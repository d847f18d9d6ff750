"""Checkpoints of every format are continued, and never by a version that would misread them."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from gridveil import AgentOptions, load_case
from gridveil.admm.draw import make_draw
from gridveil.admm.engine import run_agents
from gridveil.admm.layout import build_layout
from gridveil.errors import GridveilError

FORMAT_2 = Path(__file__).parent / "data" / "checkpoint-format-2.npz"
"""A file of the version before format 3, after 53 iterations, three of them in an open window."""
LOADS = [
    0.8050095389037389, 0.8057886510297132, 0.6389104835791246,
    0.3500045237532847, 0.3500314798009998, 0.4375222877391482,
]  # fmt: skip
"""Loads after 124 iterations, from the same version; below, penalties and residuals."""
PENALTIES = [
    0.07968315808961664, 0.12076548846216172, 0.1342607336978498, 0.1750638983228878,
    0.3185557060987286, 0.5, 0.6998668862989069, 0.9851211897515644, 1.42805, 1.850898226212581,
    1.8564650000000005,
]  # fmt: skip


def resumed(path, iterations=124, weights=None):
    """Continue the run of FORMAT_2, or of a later checkpoint of it."""
    network = load_case("case3_lmbd")
    layout = build_layout(network, [[(0.25, 0.375), (0.5, 0.75)]] * len(network.generators))
    noisy = np.concatenate([network.loads.p * 1.125, network.loads.q * 0.875])
    options = AgentOptions(max_iterations=iterations, tolerance=0.0, checkpoint=path)
    return run_agents(layout, make_draw(noisy, weights), options, threading.Event())


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copy(FORMAT_2, tmp_path / "run.npz"))


def rewrite(path, **changes):
    """Replace arrays of a checkpoint; None removes one."""
    with np.load(path) as file:
        content = {**file, **changes}
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


def test_a_checkpoint_of_format_2_is_continued_as_by_the_version_that_wrote_it(old):
    run = resumed(old)
    assert (run.iterations, run.iterations_done) == (124, 71)
    assert run.state.x[:6] == pytest.approx(LOADS, rel=1e-9)
    penalties = sorted({float(f"{rho:.12g}") for rho in run.state.rho})
    assert penalties == pytest.approx(PENALTIES, rel=1e-9)
    assert run.primal == pytest.approx(1.685093414968697e-05, rel=1e-6)
    assert run.dual == pytest.approx(6.220479476796992e-05, rel=1e-6)


def test_a_checkpoint_of_format_2_is_written_in_the_present_one(old):
    resumed(old, 60)
    with np.load(old) as file:
        assert file["format"] == 3
        assert "state_ways" not in file
    assert resumed(old).state.x[:6] == pytest.approx(LOADS, rel=1e-9)


def test_a_checkpoint_of_a_run_without_weights_is_not_continued_with_some(old):
    assert resumed(old, weights=np.ones(3)).iterations == 124
    with pytest.raises(GridveilError, match="checkpoint of another run"):
        resumed(old, 130, weights=np.array([1.0, 2.0, 1.0]))


def test_limits_distinguish_a_draw_only_where_there_are_some():
    noisy, weights = np.arange(4.0), np.array([1.0, 2.0])
    free = make_draw(noisy, weights)
    assert len(make_draw(noisy).distinguishing) == 1
    assert len(free.distinguishing) == 2
    held = make_draw(noisy, weights, np.array([0.0, -np.inf]), np.array([0.5, np.inf]))
    assert len(held.distinguishing) == 4


def test_a_weighted_run_continues_as_if_it_had_never_stopped(tmp_path):
    weights = np.array([0.1, 20.0, 1.0])
    whole = resumed(tmp_path / "whole.npz", 90, weights)
    for iterations in (33, 90):
        part = resumed(tmp_path / "part.npz", iterations, weights)
    assert part.iterations_done == 57
    assert all(np.array_equal(a, b) for a, b in zip(part.state, whole.state, strict=True))
    assert part.history == whole.history
    with pytest.raises(GridveilError, match="checkpoint of another run"):
        resumed(tmp_path / "part.npz", 91, weights[::-1])
    with pytest.raises(GridveilError, match="checkpoint of another run"):
        resumed(tmp_path / "part.npz", 91)


def test_a_checkpoint_of_a_newer_format_is_refused(old):
    rewrite(old, format=np.array(4))
    with pytest.raises(GridveilError, match="written by a newer version of Gridveil"):
        resumed(old)


@pytest.mark.parametrize(
    "change", [{"state_ways": None}, {"state_residuals": np.zeros(3)}, {"history_dual": None}]
)
def test_a_checkpoint_without_what_its_format_has_is_refused(old, change):
    rewrite(old, **change)
    with pytest.raises(GridveilError, match="not a checkpoint of a run, or is damaged"):
        resumed(old)
