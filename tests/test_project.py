"""Files of the project as a whole agree with each other and with the code."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import gridveil

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
HOOKS = {
    hook["id"]: hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repository["hooks"]
}


def test_one_version_and_date():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    # Above it may stand what is unreleased.
    version, date = re.search(r"^## (\S+) – (\d\S+)$", changelog, re.MULTILINE).groups()
    assert version == gridveil.__version__ == CITATION["version"]
    assert date == CITATION["date-released"].isoformat()


def test_one_licence():
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License")
    assert PROJECT["license"] == CITATION["license"] == "BSD-3-Clause"
    assert PROJECT["license-files"] == ["LICENSE"]
    assert PROJECT["authors"] == CITATION["authors"]


@pytest.mark.parametrize(
    ("hook", "stage", "command"),
    [("lint", "pre-commit", "make lint"), ("test", "pre-push", "make test")],
)
def test_hooks_run_the_targets_that_ci_runs(hook, stage, command):
    assert HOOKS[hook]["entry"] == command
    assert HOOKS[hook]["stages"] == [stage]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    target = command.removeprefix("make ")
    assert re.search(rf"^{target}: ", makefile, re.MULTILINE)
    # CI runs `make test`, which lints first.
    assert re.search(r"^test: .*\blint$", makefile, re.MULTILINE)
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "make test"
