import sys
from dataclasses import dataclass

import pytest

from gridveil.cli.main import main


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture
def gridveil(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Run the command line in this process; an exception that is no exit would be a traceback."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gridveil", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capfd.readouterr()
        return Outcome(int(exit_.value.code or 0), captured.out, captured.err)

    return run
