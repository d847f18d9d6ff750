"""The worked examples of CONTRIBUTING.md: one new file and one line of a registry are enough."""

import gzip
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

import gridveil
from gridveil.network.library import find_case
from tests.extension.environment import run_python

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "tests" / "extension" / "package"
SECTIONS = {
    "Add a mechanism": "box_laplace.py",
    "Add a method of the fidelity phase": "limits_only.py",
    "Add a format of case files": "matpower_gzip.py",
}


def block(section, language):
    """Return the only block of code of a language in a section."""
    (content,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    (code,) = re.findall(rf"^```{language}\n(.*?)^```", content, re.MULTILINE | re.DOTALL)
    return code


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The sources with all three worked examples applied."""
    root = tmp_path_factory.mktemp("changed")
    sources = Path(gridveil.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(sources, root / "src" / "gridveil", ignore=ignored)
    for section, name in SECTIONS.items():
        diff = block(section, "diff")
        registry = root / re.search(r"^\+\+\+ b/(.*)$", diff, re.MULTILINE)[1]
        (before,) = re.findall(r"^ (.*)$", diff, re.MULTILINE)
        (added,) = re.findall(r"^\+(?!\+)(.*)$", diff, re.MULTILINE)
        text = registry.read_text(encoding="utf-8")
        assert text.count(f"{before}\n") == 1
        edited = text.replace(f"{before}\n", f"{before}\n{added}\n")
        registry.write_text(edited, encoding="utf-8")
        (registry.parent / name).write_text(block(section, "python"), encoding="utf-8")
    return root


def run(changed, *arguments):
    outcome = run_python(
        sys.executable, "-m", "gridveil", *arguments, PYTHONPATH=str(changed / "src")
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return json.loads(outcome.stdout)


@pytest.mark.parametrize(("section", "name"), SECTIONS.items())
def test_the_examples_are_the_files_of_the_example_package(section, name):
    source = EXAMPLES / "src" / "gridveil_example" / name
    assert block(section, "python") == source.read_text(encoding="utf-8")
    assert block(section, "toml") in (EXAMPLES / "pyproject.toml").read_text(encoding="utf-8")


def test_the_mechanism(changed):
    figures = run(changed, "audit", "--mechanism", "box-laplace", "--trials", 2000, "--json")
    assert figures["mechanism"] == "box-laplace"


def test_the_method(changed):
    options = ("--method", "limits-only", "--beta", "0.05", "--json")
    figures = run(changed, "simulate", "case5_pjm", *options)
    assert figures["method"] == "limits-only"


def test_the_format(changed, tmp_path):
    compressed = tmp_path / "mine.m.gz"
    compressed.write_bytes(gzip.compress(find_case("case5_pjm").read_bytes()))
    assert run(changed, "solve", compressed, "--json")["status"] == "optimal"
