"""Runs of a released series: killed at any moment, it goes on and makes the same bytes."""

import os
import random
import signal
import time

import numpy as np
import pytest

from gridveil import BudgetExceededError, GridveilError, Ledger, load_case
from gridveil.fidelity.series import restore
from gridveil.publication.series.block import SolvedBlock
from gridveil.publication.series.state import RunState, state_folder
from tests.publication.series.releases import is_same, plan_of, series_of

KILLS = 10
HOURS = 26


@pytest.fixture(scope="module")
def network():
    return load_case("case5_pjm")


@pytest.fixture(scope="module")
def series(network):
    return series_of(network, hours=HOURS)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Cut the series into four blocks, three of which are batches of the interior-point method."""
    monkeypatch.setattr(restore, "BLOCK_HOURS", 8)


def run(network, series, folder):
    """Run to the end as the command does, and save the release beside the state."""
    ledger = Ledger(folder / "ledger.sqlite")
    output = folder / "out"
    made = plan_of(network, series, ledger, hide="10MVA").run(
        ledger, state=state_folder(output), workers=1
    )
    made.save(output)
    made.remove_state()
    return made


def killed(network, series, folder, seconds):
    """Run in a process of its own that is killed after some time; return whether it had ended."""
    child = os.fork()
    if child == 0:
        try:
            run(network, series, folder)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status)


def test_killed_at_any_moment_it_goes_on_with_the_same_bytes(network, series, tmp_path):
    for name in ("compiled", "whole"):  # the first run is slower than those to be killed
        (tmp_path / name).mkdir()
        started = time.monotonic()
        made_whole = run(network, series, tmp_path / name)
        whole = time.monotonic() - started
    moments, folder = random.Random(7), tmp_path / "killed"
    folder.mkdir()
    kept = set()
    for _ in range(KILLS):
        if killed(network, series, folder, moments.uniform(0, 0.8 * whole)):
            break
        kept.add(len(list(folder.glob(".out.series/block-*"))))
    solvers = {(one.what, one.solver) for one in made_whole.certificate.solves}
    assert {("target", "interior-point"), ("target", "ipopt")} <= solvers
    made = run(network, series, folder) if not (folder / "out").exists() else None
    assert len(kept) > 1  # kills met the run with and without blocks
    assert not state_folder(folder / "out").exists()
    files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    if made is not None:
        assert files == made.files
    ledger = Ledger(folder / "ledger.sqlite")  # the same draw, restored anew from beginning to end
    again = plan_of(network, series, ledger, hide="10MVA").run(ledger, workers=1)
    assert files == again.files


def test_a_state_of_another_draw_or_plan_is_not_used(network, series, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    state = tmp_path / ".out.series"
    first = plan_of(network, series, ledger, hide="10MVA", release_id="one")
    one = first.run(ledger, state=state, workers=1)
    blocks = {path.name: path.read_bytes() for path in state.glob("block-*")}
    assert len(blocks) == 4
    told = []
    again = first.run(ledger, state=state, workers=1, progress=lambda *t: told.append(t))
    assert is_same(again, one)
    assert told == []  # every block was there
    wider = plan_of(network, series, ledger, hide="10MVA", release_id="one", beta=0.02)
    other = wider.run(ledger, state=state, workers=1, progress=lambda *t: told.append(t))
    assert len(told) == 4
    assert other.certificate.fidelity.beta == 0.02


def test_a_state_shows_no_raw_load(network, series, tmp_path):
    """It is its owner's, and no number in it is a raw one."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    state = tmp_path / ".out.series"
    plan_of(network, series, ledger, hide="10MVA").run(ledger, state=state, workers=1)
    assert state.stat().st_mode & 0o077 == 0
    raw = np.concatenate([series.p.ravel(), series.q.ravel()])
    for path in state.glob("*.npz"):
        assert path.stat().st_mode & 0o077 == 0
        with np.load(path) as arrays:
            assert arrays["solves"].dtype.kind == "U"
            for name in set(arrays) - {"solves"}:
                assert not np.isin(arrays[name].astype(float), raw).any()


@pytest.mark.parametrize("left", [0, 11, 600, -1], ids="{} bytes".format)
def test_a_block_that_cannot_be_read_is_made_again(network, series, tmp_path, left):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    state = tmp_path / ".out.series"
    plan = plan_of(network, series, ledger, hide="10MVA")
    one = plan.run(ledger, state=state, workers=1)
    block = state / "block-000002.npz"
    block.write_bytes(block.read_bytes()[:left] if left != 11 else b"not a block")
    told = []
    again = plan.run(ledger, state=state, workers=1, progress=lambda *t: told.append(t))
    assert is_same(one, again)
    assert [done for done, _, _ in told] == [HOURS]


def test_progress_says_how_much_is_left(network, series, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    told = []
    plan_of(network, series, ledger, hide="10MVA").run(
        ledger, workers=1, progress=lambda *t: told.append(t)
    )
    assert [(done, of) for done, of, _ in told] == [(n, HOURS) for n in (8, 16, 24, 26)]
    assert told[-1][2] == 0
    assert all(left > 0 for _, _, left in told[:-1])


def test_blocks_survive_the_disk_bit_by_bit(network, series, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    solved = plan_of(network, series, ledger, hide="10MVA").run(ledger, workers=1).solved
    solves = np.array(solved.solves)
    block = SolvedBlock(solved.restored, solved.targets, solved.optimal, solved.violations, solves)
    state = RunState(tmp_path / "state", [b"one"])
    state.save(3, block)
    back = RunState(tmp_path / "state", [b"one"]).load(3)
    assert np.array_equal(back.restored.p, block.restored.p)
    assert np.array_equal(back.restored.points.theta, block.restored.points.theta)
    assert np.array_equal(back.solves, solves)
    assert RunState(tmp_path / "state", [b"two"]).load(3) is None


def test_a_second_run_to_one_output_says_so_before_it_draws(network, series, tmp_path):
    """The first goes on and loses nothing."""
    state = tmp_path / ".out.series"
    plan = plan_of(network, series, tmp_path / "first.sqlite", hide="10MVA")
    other = plan_of(network, series, tmp_path / "second.sqlite", hide="10MVA", release_id="other")
    refused = []

    def meanwhile(done, of, left):
        with pytest.raises(GridveilError, match="another run to the same output") as told:
            other.run(Ledger(tmp_path / "second.sqlite"), state=state, workers=1)
        refused.append(told.value)
        assert (state / f"block-{len(refused) - 1:06}.npz").exists()

    ledger = Ledger(tmp_path / "first.sqlite")
    made = plan.run(ledger, state=state, workers=1, progress=meanwhile)
    assert len(refused) == 4
    assert not Ledger(tmp_path / "second.sqlite").knows("other")
    made.remove_state()
    assert not state.exists()


def test_a_run_that_draws_nothing_leaves_no_state_behind(network, series, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    state = tmp_path / ".out.series"
    plan = plan_of(network, series, ledger, hide="10MVA", release_id="one")
    ledger.set_cap(1)
    with pytest.raises(BudgetExceededError):
        plan.run(ledger, state=state, workers=1)
    assert not state.exists()


def test_a_block_of_another_run_is_not_taken_for_its_own(network, series, tmp_path):
    """Two runs that write beside the same output at once: neither gets a block of the other."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    solved = plan_of(network, series, ledger, hide="10MVA").run(ledger, workers=1).solved
    solves = np.array(solved.solves)
    block = SolvedBlock(solved.restored, solved.targets, solved.optimal, solved.violations, solves)
    one = RunState(tmp_path / "state", [b"one"])
    other = RunState(tmp_path / "state", [b"other"])
    one.save(0, block)
    assert other.load(0) is None
    assert one.load(0) is not None


def test_a_folder_that_is_no_state_loses_nothing(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    RunState(tmp_path / "mine", [b"one"]).remove()
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
