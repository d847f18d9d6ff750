"""Killed at any moment, a release is there whole or not at all, and its noise is drawn once."""

import os
import random
import shutil
import signal
import time

import pytest

from gridveil import Ledger, PolarLaplace, load_case, release, verify
from gridveil.errors import GridveilError
from gridveil.publication.folder import write_folder

KILLS = 50


def start(network, folder):
    """Make a release in another process."""
    child = os.fork()
    if child == 0:
        try:
            ledger = Ledger(folder / "ledger.sqlite")
            made = release(
                network, ledger, mechanism=PolarLaplace.of(1, 0.1), beta=0.01, release_id="one"
            )
            made.save(folder / "out")
        finally:
            os._exit(0)
    return child


def test_kill_9_at_any_moment(tmp_path):
    network = load_case("case5_pjm")
    os.waitpid(start(network, tmp_path), 0)
    assert verify(tmp_path / "out").ok
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    shutil.rmtree(tmp_path / "out")
    started = time.monotonic()
    os.waitpid(start(network, tmp_path), 0)
    usual = time.monotonic() - started
    shutil.rmtree(tmp_path / "out")
    choose, whole = random.Random(11), 0
    for _ in range(KILLS):
        child = start(network, tmp_path)
        time.sleep(choose.random() * usual * 2.5)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert {account.spent for account in Ledger(tmp_path / "ledger.sqlite").accounts()} == {1}
        if (tmp_path / "out").exists():
            whole += 1
            found = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
            assert found == first
            shutil.rmtree(tmp_path / "out")
    assert 0 < whole < KILLS
    os.waitpid(start(network, tmp_path), 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.sqlite", "out"]


def test_kill_9_with_a_fresh_ledger(tmp_path):
    """At any moment of the very first run: nothing is charged, or once, and drawn once."""
    network = load_case("case3_lmbd")
    choose = random.Random(3)
    (tmp_path / "first").mkdir()
    started = time.monotonic()
    os.waitpid(start(network, tmp_path / "first"), 0)
    usual = time.monotonic() - started
    for i in range(30):
        folder = tmp_path / str(i)
        folder.mkdir()
        child = start(network, folder)
        time.sleep(choose.random() * usual)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        path = folder / "ledger.sqlite"
        drawn = path.exists() and Ledger(path).knows("one") and Ledger(path).entry("one").drawn_at
        if not (folder / "out").exists():
            os.waitpid(start(network, folder), 0)
        assert verify(folder / "out").ok
        assert {account.spent for account in Ledger(path).accounts()} == {1}
        assert not drawn or Ledger(path).entry("one").drawn_at == drawn


def test_a_living_process_keeps_its_unfinished_folder(tmp_path):
    living = tmp_path / f".out.unfinished-{os.getpid()}-abc"
    dead = tmp_path / ".out.unfinished-4194304999-abc"
    other = tmp_path / ".other.unfinished-4194304999-abc"
    for folder in (living, dead, other):
        folder.mkdir()
    write_folder(tmp_path / "out", {"a": b"1"})
    assert living.exists()
    assert other.exists()
    assert not dead.exists()
    write_folder(tmp_path / "*", {"a": b"1"})
    assert other.exists()


def test_a_private_folder_is_for_its_owner(tmp_path):
    write_folder(tmp_path / "mine", {"a": b"1"}, private=True)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "mine" / "a").stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path):
    with pytest.raises(GridveilError, match="cannot write"):
        write_folder(tmp_path / "out", {"a": b"1", "b/c/d": b"2"})
    assert list(tmp_path.iterdir()) == []


def test_folders_are_made_on_the_way(tmp_path):
    write_folder(tmp_path / "a" / "b", {"x": b"1", "private/y": b"2"})
    assert (tmp_path / "a" / "b" / "private" / "y").read_bytes() == b"2"
