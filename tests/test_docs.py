"""The documentation: commands run, links lead somewhere, the map of the folders is whole."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gridveil.network.library import find_case

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")


def blocks(language):
    return [
        pytest.param(code, id=f"{page.stem}-{i}")
        for page in PAGES
        for i, (kind, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
        if kind == language
    ]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder that has the files the examples speak of."""
    for name in ("mynetwork.m", "path/to/network.m", "my/cases/my_network.m"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(find_case("case5_pjm"), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("code", blocks("sh"))
def test_shell_commands_run(code, workplace):
    for line in code.splitlines():
        command = line.replace(".venv/bin/", "")
        if "make " not in command:
            subprocess.run(["bash", "-c", command], check=True, capture_output=True, timeout=120)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code, workplace):
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_map_of_the_folders_names_every_module():
    text = (ROOT / "docs" / "folders.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "gridveil").rglob("*.py"):
        if path.parent.name != "cli" and path.stem not in ("__init__", "__main__"):
            assert path.name in text, f"docs/folders.md does not mention {path.name}"


def test_ci_runs_the_test_command_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\nmake test " in readme
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "make test"
