"""Nothing that a file says controls the terminal, whatever the command and the kind of file."""

import io
import json
import shutil
import sqlite3

import pytest

from gridveil import release
from gridveil.cli.output import PrintableConsole
from gridveil.publication.certificate import Certificate
from tests.cases import TINY

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[/x][bold]:smile:"
"""Sequences of terminals in 7 and 8 bits, a bidirectional override, and markup."""
NAME = ESCAPES.replace("/", "|").replace(":", "")
"""The same as far as it can be the name of a file in a list of paths."""


def assert_printable(outcome):
    for text in (outcome.out, outcome.err):
        left = {one for one in text if not one.isprintable()} - {"\n", "\t"}
        assert not left, text
        assert "Traceback" not in text
    return outcome


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    (folder / "tiny.m").write_text(TINY.text())
    release(folder / "tiny.m", folder / "ledger.sqlite", hide="10MVA", beta=0.05).save(
        folder / "out"
    )
    return folder


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def hostile(tmp_path):
    """A folder and a case file with hostile names, and hostile text in the file."""
    folder = tmp_path / f"folder {NAME}"
    folder.mkdir()
    path = folder / f"tiny{NAME}.m"
    path.write_text(TINY.text() + f"\n% {ESCAPES}\n")
    return path


def changed(out, **values):
    path = out / "certificate.json"
    content = json.loads(path.read_text())
    for name, value in values.items():
        part, _, field = name.partition("__")
        if field:
            content[part][field] = value
        else:
            content[part] = value
    path.write_bytes(Certificate.model_validate(content).sealed().to_bytes())


@pytest.mark.parametrize("arguments", [(), ("--json",)])
@pytest.mark.parametrize(
    "values",
    [
        {"release_id": ESCAPES, "network": ESCAPES, "drawn_at": ESCAPES},
        {"software": {ESCAPES: ESCAPES}, "files": {ESCAPES: ESCAPES}},
        {"protection__promise": ESCAPES, "protection__unit": ESCAPES, "digest": ESCAPES},
        {"protection__mechanism": "own", "protection__parameters": {ESCAPES: ESCAPES}},
        {"protection__bounds": ESCAPES, "protection__metric": ESCAPES},
        {"protection__caution": ESCAPES, "protection__not_covered": [ESCAPES]},
        {"fidelity__promise": ESCAPES, "fidelity__method": "own"},
        {"costs__source": ESCAPES, "invariants": [{"what": ESCAPES, "provenance": ESCAPES}]},
    ],
)
def test_a_certificate_controls_no_terminal(gridveil, out, values, arguments):
    changed(out, **values)
    outcome = assert_printable(gridveil("verify", out, *arguments))
    assert outcome.status == 1  # the page shows other values
    if arguments:
        assert json.loads(outcome.out)["claims"]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({ESCAPES: 1}),
        json.dumps({"version": 2, "protection": {ESCAPES: 1}}),
        json.dumps(ESCAPES),
        ESCAPES,
    ],
)
def test_a_document_that_is_no_certificate_controls_no_terminal(gridveil, out, data):
    (out / "certificate.json").write_text(data)
    assert assert_printable(gridveil("verify", out)).status == 1


def test_the_names_of_files_control_no_terminal(gridveil, out, tmp_path):
    (out / NAME).write_text("")
    for extra in ((), ("--json",), ("--key", tmp_path / ESCAPES)):
        assert_printable(gridveil("verify", out, *extra))
    network = out / "network.m"
    network.write_text(network.read_text().replace("mpc.bus = [", f"{ESCAPES}\nmpc.bus = ["))
    assert assert_printable(gridveil("verify", out)).status == 1
    assert assert_printable(gridveil("verify", tmp_path / ESCAPES)).status == 2


def test_names_of_cases_control_no_terminal(gridveil, hostile, tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDVEIL_CASES", str(hostile.parent))
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(hostile.parent / "ledger"))
    found = hostile.parent / "out"
    for arguments in (
        ("solve", hostile),
        ("solve", hostile, "--json"),
        ("solve", hostile.parent / "none.m"),
        ("solve", ESCAPES),
        ("cases", "tiny"),
        ("cases", "tiny", "--json"),
        ("release", hostile, "--dry-run"),
        ("release", hostile, "--dry-run", "--json"),
        ("release", hostile, "--hide", "10MVA", "-o", found, "--release-id", "one", "--plain"),
        (
            "release",
            hostile,
            "--hide",
            "10MVA",
            "-o",
            hostile.parent / "again",
            "--release-id",
            "one",
            "--json",
        ),
        ("verify", found),
        ("simulate", hostile),
        ("simulate", hostile, "--json"),
        ("budget", "show"),
        ("budget", "show", "--json"),
        ("budget", "explain", hostile),
        ("budget", "explain", hostile, "--epsilon", "9"),
        ("budget", "cap", "3", "--case", hostile),
        ("partition", hostile, "--parties", "2", "-o", hostile.parent / "parties.csv"),
    ):
        assert_printable(gridveil(*arguments))
    assert found.exists()
    assert "owned" in gridveil("solve", hostile).out
    assert "owned" in gridveil("cases", "tiny").out
    assert "owned" in gridveil("budget", "show").out


def test_a_ledger_controls_no_terminal(gridveil, made, tmp_path):
    path = tmp_path / "ledger.sqlite"
    shutil.copy(made / "ledger.sqlite", path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE registers SET name = ?", (ESCAPES,))
        database.execute("UPDATE accounts SET key = key || ?", (ESCAPES,))
        content = json.dumps({"register": ESCAPES, "reason": ESCAPES})
        database.execute("UPDATE rows SET content = ?, kind = ?", (content, ESCAPES))
    for command in (("budget", "show"), ("ledger", "show"), ("ledger", "history")):
        for extra in ((), ("--json",)):
            outcome = assert_printable(gridveil(*command, "--ledger", path, *extra))
            assert "owned" in outcome.out
    assert_printable(gridveil("ledger", "check", "--ledger", path))
    assert_printable(gridveil("ledger", "page", "--ledger", path, "-o", tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "owned" in page
    assert page.isprintable() or set(page) - {"\n"} == {c for c in page if c.isprintable()}


@pytest.mark.parametrize(
    ("option", "name", "text"),
    [
        ("--config", "options.toml", f'"{ESCAPES}" = 1'),
        ("--config", "options.toml", 'max-iterations = "\\u001b[2J\\u202e"'),
        ("--config", "options.toml", 'mechanism = "\\u001b[2J\\u202e"'),
        ("--config", "options.toml", 'epsilon = "\\u001b[2J\\u202e"'),
        ("--config", "options.toml", 'band = ["\\u001b[2J\\u202e"]'),
        ("--config", "options.toml", ESCAPES),
        ("--costs", "costs.csv", f"generator,cost\n{ESCAPES},1\n"),
        ("--costs", "costs.csv", f"{ESCAPES}\n"),
        ("--bounds", "bounds.csv", f"bus,p_min,p_max,q_min,q_max\n{ESCAPES},1,1,1,1\n"),
        ("--load-buses", "buses.csv", ESCAPES),
        ("--sign", "key.pem", ESCAPES),
        ("--checkpoint", "state", ESCAPES),
    ],
)
def test_files_of_options_control_no_terminal(gridveil, made, tmp_path, option, name, text):
    path = tmp_path / f"{NAME}{name}"
    path.write_text(text)
    outcome = gridveil("release", made / "tiny.m", option, path, "-o", tmp_path / "out")
    assert assert_printable(outcome).status == 2


@pytest.mark.parametrize("name", ["case.json", "case.m", "case.mat", "case.xyz"])
@pytest.mark.parametrize(
    "text",
    [
        ESCAPES,
        json.dumps({ESCAPES: ESCAPES}),
        TINY.with_cell("bus", 1, 2, ESCAPES).text(),
        TINY.with_(extra=f"mpc.{ESCAPES} = [1 2];").text(),
    ],
)
def test_a_broken_case_controls_no_terminal(gridveil, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert assert_printable(gridveil("solve", path)).status == 2


def test_a_study_controls_no_terminal(gridveil, tmp_path):
    path = tmp_path / "study.toml"
    for text in (f'"{ESCAPES}" = 1', ESCAPES, 'cases = ["\\u001b[2J\\u202e"]'):
        path.write_text(text)
        for command in ("sweep", "results"):
            assert assert_printable(gridveil(command, path, "-o", tmp_path / ESCAPES)).status == 2


@pytest.mark.parametrize(
    "arguments", [(ESCAPES,), ("solve", f"--{ESCAPES}"), ("solve", "a", ESCAPES), (f"-{ESCAPES}",)]
)
def test_arguments_control_no_terminal(gridveil, arguments):
    assert assert_printable(gridveil(*arguments)).status == 2


def test_a_terminal_gets_styles_but_no_sequence_of_a_text():
    file = io.StringIO()
    console = PrintableConsole(file=file, force_terminal=True, color_system="standard", width=80)
    console.print(ESCAPES, style="red")
    console.print(f"two\nlines {ESCAPES}", highlight=False)
    text = file.getvalue()
    assert "\x1b[31m" in text, "its own style"
    assert "two\nlines �[2J" in text
    for sequence in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert sequence not in text
    assert "[/x][bold]:smile:" in text
