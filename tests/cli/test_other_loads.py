"""What a release says, writes and keeps in its ledger does not depend on the raw loads.

The draw is fixed: both files get the private loads that were drawn for the first. Then every byte
is the same, of messages, folder and ledger, whether a release succeeds or fails. Left out are costs
derived from the raw loads, which depend on them by declaration, and what the two guards say that
compare files with raw loads, to the owner alone (publication/scan).
"""

import resource
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from gridveil import AgentOptions, Ledger, simulate
from gridveil.fidelity.central import Central
from gridveil.fidelity.registry import METHODS
from gridveil.privacy.ledger import chain, ledger
from tests.cases import TINY, bus, polynomial

ONE = TINY.with_(
    bus=[bus(1, 3), bus(2, 1, 80.0, 20.0, g=5.0), bus(7, 2, 50.0, 10.0)],
    gencost=[polynomial(0.02, 10.0, 5.0), polynomial(0.01, 20.0, 7.0)],
    extra="% drawn by the planning department",
)
OTHER = ONE.with_(bus=[bus(1, 3), bus(2, 1, -3.21, 61.7, g=5.0), bus(7, 2, 123.4, -0.77)])
HUGE = ONE.with_(bus=[bus(1, 3), bus(2, 1, 9.1e13, 1e9, g=5.0), bus(7, 2, -4.3e11, 3e-7)])
PIECEWISE = ("--mechanism", "piecewise", "--bounds", "bounds.csv")
OUT = ("-o", "sub/out")

MODES = {
    "private": (),
    "agents": ("--method", "admm"),
    "per cent": ("--hide", "20%", "--floor", "2MVA"),
    "absolute": ("--hide", "2MVA"),
    "polar": ("--hide", "2MVA", "--mechanism", "polar-laplace"),
    "bought total": ("--hide", "2MVA", "--cost-budget", "0.3"),
    "rated": ("--hide", "2%rating", "--ratings", "ratings.csv", "--ratings-source", "a map"),
    "published costs": ("--costs", "costs.csv", "--costs-source", "a gazette", "--hide", "2MVA"),
    "piecewise": (*PIECEWISE, "--epsilon", "2"),
    "clamped": ("--hide", "2MVA", "--bounds", "bounds.csv"),
    "post-processing": ("--consumers", "all", "--power-factor", "0.3", "--correct-bias"),
    "kept": ("--keep", "comments"),
}


class Failing(Central):
    """A method of another package that raises an error."""

    name = "failing"

    def solve(self, problem):
        raise ZeroDivisionError("a bug")


class Interrupted(Central):
    """A method during which somebody presses Ctrl-C."""

    name = "interrupted"

    def solve(self, problem):
        signal.raise_signal(signal.SIGINT)
        return super().solve(problem)


@pytest.fixture
def outcome(gridveil, monkeypatch, tmp_path):
    """Release one file after the other with the same draw; return all that can be seen of it."""
    drawn = {}
    spend = Ledger.spend
    monkeypatch.setenv("GRIDVEIL_LEDGER", "ledger.sqlite")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(ledger.secrets, "token_hex", lambda size: "ab" * size)
    for module in (chain, ledger):
        monkeypatch.setattr(module, "now", lambda: "2026-11-20T08:00:00+00:00")
    for method in (Failing, Interrupted):
        monkeypatch.setitem(METHODS._ours, method.name, f"{__name__}:{method.__name__}")

    def run(case, options, after_the_draw=lambda: None):
        folder = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        Path("mine.m").write_text(case.text())
        Path("costs.csv").write_text("generator,cost\n1,805\n2,1207\n")
        Path("none.csv").write_text("generator,cost\n1,5\n2,7\n")
        Path("ratings.csv").write_text("bus,rating_mva\n2,106\n7,77.7\n")
        Path("bounds.csv").write_text("bus,p_min,p_max,q_min,q_max\n2,60,90,10,30\n7,40,60,0,20\n")
        given = {path.name for path in folder.iterdir()}

        def fixed(book, release_id, spending, draw):
            def same():
                values = draw()
                return drawn.setdefault(release_id, values)

            values = spend(book, release_id, spending, same)
            after_the_draw()
            return values

        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "spend", fixed)
            seen = gridveil("release", "mine.m", "--beta", "0.5", "--release-id", "one", *options)
        # The command blocks the signal on its way out, for the process that it usually is.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        files = {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")
            if path.name not in given | {"ledger.sqlite"}
        }
        book = Ledger("ledger.sqlite")
        rows = book.history(), book.accounts(), book.groups()
        book.close()
        return seen, files, rows

    return run


@pytest.mark.parametrize("mode", MODES)
def test_releases_of_other_loads_are_the_same_to_the_last_byte(outcome, mode):
    if mode == "agents":  # what compiles them for the first time says so
        quiet = AgentOptions(notify=lambda _: None)
        simulate(ONE.network(), method="admm", beta=0.5, agents=quiet, unchecked=True)
    first = outcome(ONE, (*MODES[mode], *OUT))
    seen, files, (history, accounts, _) = first
    assert seen.status == 0, seen.err
    assert len([name for name in files if name.startswith("sub/out/")]) >= 5
    assert len(history) >= 2
    assert {float(account.spent) for account in accounts} == {2.0 if mode == "piecewise" else 1.0}
    assert outcome(OTHER, (*MODES[mode], *OUT)) == first
    if mode in ("private", "piecewise", "bought total"):
        assert outcome(HUGE, (*MODES[mode], *OUT)) == first


@contextmanager
def largest_file(size):
    """A disk on which no file becomes larger: what is written beyond fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def nothing():
    """Nothing happens after the draw."""


def make_the_folder():
    Path("sub/out").mkdir(parents=True, exist_ok=True)


def make_the_parent_a_file():
    shutil.rmtree("sub", ignore_errors=True)
    Path("sub").write_text("no folder")


FAILURES = {
    "infeasible": (
        ("--costs", "none.csv", "--costs-source", "x", "--beta", "0.0001", "--consumers", "all"),
        nothing,
        "no feasible point was found",
    ),
    "method of another package": (("--method", "failing"), nothing, "ZeroDivisionError: a bug"),
    "folder that appeared": ((), make_the_folder, "exists and is not overwritten"),
    "no folder can be written": ((), make_the_parent_a_file, "cannot write"),
    "interrupted": (("--method", "interrupted"), nothing, "interrupted"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_after_the_draw_are_the_same_for_other_loads(outcome, failure):
    options, after_the_draw, said = FAILURES[failure]
    first = outcome(ONE, (*options, *OUT), after_the_draw)
    seen, files, (_, accounts, _) = first
    assert seen.status != 0
    assert said in seen.err
    assert "Traceback" not in seen.err
    assert not any(name.startswith("sub/out/") for name in files)
    assert {float(account.spent) for account in accounts} == {1.0}
    assert outcome(OTHER, (*options, *OUT), after_the_draw) == first


def test_a_full_disk_is_the_same_for_other_loads(outcome):
    found = []
    for case in (ONE, OTHER):
        with largest_file(4096) as fill:
            found.append(outcome(case, OUT, fill))
    seen, files, (_, accounts, _) = found[0]
    assert seen.status == 2
    assert "cannot write" in seen.err
    assert not any(name.startswith("sub/") for name in files)
    assert {float(account.spent) for account in accounts} == {1.0}
    assert found[1] == found[0]
