"""Exit codes mean the same in every command."""

import os
import re
from pathlib import Path

import pytest
import typer

from gridveil.cli import exit_codes
from gridveil.cli.app import app
from tests.cases import TINY

DOCS = Path(__file__).parents[2] / "docs"
IMPOSSIBLE = TINY.with_cell("bus", 1, 2, 900.0).text()
"""900 MW of load, 300 MW of generation."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "tiny.m").write_text(TINY.text())
    (tmp_path / "impossible.m").write_text(IMPOSSIBLE)
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


DERIVED = ("--costs", "derived", "--declare-public", "costs")
HIDE = ("--hide", "10MVA")


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ("solve", "tiny.m")),
        (0, ("simulate", "tiny.m", *HIDE, "--beta", "0.5")),
        (2, ("solve", "missing.m")),
        (2, ("solve", ".")),
        (2, ("solve", "tiny.m", "--colour")),
        (2, ("simulate", "tiny.m", "--beta", "-1")),
        (2, ("release", "tiny.m", "-o", "out", "--epsilon", "0")),
        (2, ("release", "tiny.m", "-o", "out", "--epsilon", "99")),
        (2, ("plan", "tiny.m", "--epsilon", "nothing")),
        (2, ("verify", "missing")),
        (2, ("sweep", "missing.toml", "-o", "results")),
        (2, ("audit", "--trials", "0")),
        (2, ("ledger", "check", "--ledger", ".")),
        (3, ("solve", "impossible.m")),
        (3, ("simulate", "impossible.m", *HIDE)),
        (3, ("release", "impossible.m", "-o", "out", *HIDE, *DERIVED)),
        (3, ("simulate", "tiny.m", *HIDE, "--method", "admm", "--max-iterations", "3")),
        (3, ("release", "tiny.m", "-o", "out", *HIDE, "--method", "admm",
             "--max-iterations", "3", "--no-polish")),
        (1, ("budget", "explain", "tiny.m", "--epsilon", "99")),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else str(value),
)  # fmt: skip
def test_the_same_outcome_has_the_same_code(gridveil, folder, code, arguments):
    outcome = gridveil(*arguments)
    assert outcome.status == code, outcome.err
    assert not (folder / "out").exists()


def test_a_broken_release_and_a_broken_ledger_are_failed_checks(gridveil, folder):
    assert gridveil("release", "tiny.m", "-o", "out", *HIDE, "--beta", "0.5").status == 0
    assert gridveil("verify", "out").status == 0
    assert gridveil("ledger", "check").status == 0
    loads = folder / "out" / "loads.csv"
    loads.write_text(loads.read_text().replace("1", "2"))
    assert gridveil("verify", "out").status == 1


def test_a_fidelity_phase_that_failed_says_that_the_draw_is_kept(gridveil, folder):
    failed = gridveil(
        "release", "tiny.m", "-o", "out", *HIDE,
        "--method", "admm", "--max-iterations", "3", "--no-polish",
    )  # fmt: skip
    assert failed.status == 3
    assert "kept under release id" in " ".join(failed.err.split())


def test_every_code_is_documented():
    table = (DOCS / "results.md").read_text()
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert codes == {0, 1, 2, 3, 130}
    for code in codes:
        assert re.search(rf"^\| {code} \|", table, re.MULTILINE), code


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_may_not_be_read_gives_a_message(gridveil, folder):
    closed = folder / "closed"
    closed.mkdir()
    (closed / "tiny.m").write_text(TINY.text())
    closed.chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        gridveil("solve", "tiny.m")  # another user may not be able to import
        folder.chmod(0o755)
        os.seteuid(65534)
    try:
        outcome = gridveil("solve", closed / "tiny.m")
    finally:
        if is_root:
            os.seteuid(0)
        closed.chmod(0o700)
    assert outcome.status == 2
    assert "Permission denied" in outcome.err
    assert "Traceback" not in outcome.err


def commands(command, names=()):
    """Every command and group with the words that call it."""
    yield names
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*names, name))


@pytest.mark.parametrize("names", tuple(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_is_there_by_its_short_name_and_shows_flags_as_flags(gridveil, names):
    outcome = gridveil(*names, "-h")
    assert outcome.status == 0
    assert "Usage: gridveil" in outcome.out
    assert "<bool>" not in outcome.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_of_cases_are_completed(gridveil, monkeypatch, shell):
    monkeypatch.setenv("_GRIDVEIL_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "gridveil solve case39_e")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "gridveil solve case39_e")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    offered = re.findall(r"case\w+", gridveil().out)
    assert offered == ["case39_epri", "case39_epri__api", "case39_epri__sad"]
