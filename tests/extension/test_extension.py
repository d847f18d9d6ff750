"""A package outside the project adds a mechanism, a method and a format; all commands know them.

No line of the project knows their names. Where the package is not installed, `verify` says so.
"""

import gzip
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from gridveil.network.library import find_case, load_case
from gridveil.opf.acopf import solve_acopf
from gridveil.privacy.mechanisms.registry import MECHANISMS
from tests.extension.environment import environment_with, run_python

PACKAGE = Path(__file__).parent / "package"
NAMES = ("--mechanism", "box-laplace", "--method", "limits-only")
STUDY = """
cases = ["case5_pjm"]
mechanisms = ["polar-laplace", "box-laplace"]
methods = ["central", "limits-only"]
betas = [0.05]
draws = 2
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Python with the package, as against the one that runs the tests."""
    return environment_with(PACKAGE, tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def released(installed, tmp_path_factory):
    """A release by the mechanism and the method of the package, from the command line."""
    folder = tmp_path_factory.mktemp("released")
    outcome = installed.run(
        "-m", "gridveil", "release", "case5_pjm", *NAMES, "--beta", "0.05",
        "--ledger", folder / "ledger.sqlite", "-o", folder / "out",
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr
    return folder / "out"


def test_the_running_environment_does_not_have_the_package():
    assert "box-laplace" not in MECHANISMS


def test_release_states_what_the_package_promises(released):
    stated = json.loads((released / "certificate.json").read_text(encoding="utf-8"))
    protection, fidelity = stated["protection"], stated["fidelity"]
    assert protection["mechanism"] == "box-laplace"
    assert "differ by at most 10 MW in P and 10 MVAr in Q (0.1 p.u. each)" in protection["promise"]
    assert protection["metric"].startswith("max(|ΔP|, |ΔQ|)")
    assert protection["noise_scale_pu"] == pytest.approx(2 * (0.1 + 1e-4))
    assert protection["parameters"]["mechanism"] == "box-laplace"
    assert fidelity["method"] == "limits-only"
    assert fidelity["promise"] == "nothing is promised about costs"


def test_verify_checks_every_claim(installed, released):
    outcome = installed.run("-m", "gridveil", "verify", released, "--json")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    verdicts = {c["name"]: c["verdict"] for c in json.loads(outcome.stdout)["claims"]}
    assert set(verdicts.values()) == {"recomputed", "proved", "stated"}
    assert verdicts["promise"] == "proved"
    assert {"promise", "metric", "noise scale (p.u.)", "costs keep β"} <= set(verdicts)


@pytest.mark.parametrize(
    ("old", "new", "claim"),
    [
        ("10 MW in P", "20 MW in P", "promise"),
        (r'"noise_scale_pu": [\d.]+', '"noise_scale_pu": 0.3', "noise scale (p.u.)"),
        ("larger of the two", "smaller of the two", "metric"),
        ("nothing is promised about costs", "all is promised", "promise about costs"),
    ],
)
def test_verify_finds_a_changed_claim(installed, released, tmp_path, old, new, claim):
    text = (released / "certificate.json").read_text(encoding="utf-8")
    changed = shutil.copytree(released, tmp_path / "changed")
    edited, edits = re.subn(old, new, text)
    assert edits == 1
    (changed / "certificate.json").write_text(edited, encoding="utf-8")
    outcome = installed.run("-m", "gridveil", "verify", changed, "--json")
    assert outcome.returncode == 1
    broken = {c["name"] for c in json.loads(outcome.stdout)["claims"] if not c["ok"]}
    assert broken == {"digest of the certificate", claim, "report.html"}  # which shows it


def test_without_the_package_its_claims_are_not_checked(released):
    outcome = run_python(sys.executable, "-m", "gridveil", "verify", released, "--json")
    assert outcome.returncode == 1
    assert "Traceback" not in outcome.stderr
    claims = json.loads(outcome.stdout)["claims"]
    stated = json.loads((released / "certificate.json").read_text(encoding="utf-8"))
    unchecked = {c["name"]: c["found"] for c in claims if c["verdict"] == "unchecked"}
    assert set(unchecked) == {
        "mechanism",
        "promise",
        "metric",
        "noise scale (p.u.)",
        *(f"parameter {name}" for name in stated["protection"]["parameters"]),
        "promise about costs",
        "costs keep β",
    }
    assert all("is not known here; install its package" in found for found in unchecked.values())
    held = {"recomputed", "stated"}  # nothing is proved without the mechanism
    assert {c["verdict"] for c in claims if c["name"] not in unchecked} == held
    shown = run_python(sys.executable, "-m", "gridveil", "verify", released)
    assert shown.returncode == 1
    assert f"{len(unchecked)} NOT CHECKED" in shown.stdout


def test_simulate(installed):
    outcome = installed.run(
        "-m", "gridveil", "simulate", "case5_pjm", *NAMES, "--beta", "0.05", "--json"
    )
    assert outcome.returncode == 0, outcome.stderr
    figures = json.loads(outcome.stdout)
    assert figures["method"] == "limits-only"
    assert figures["max_violation"] < 1e-6


def test_audit(installed):
    outcome = installed.run(
        "-m", "gridveil", "audit", "--mechanism", "box-laplace", "--trials", 20_000, "--json"
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    figures = json.loads(outcome.stdout)
    assert figures["verdict"] in ("consistent", "weak")
    assert 0.8 < figures["epsilon_lower_bound"] <= 1.0


def test_sweep_and_results(installed, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    arguments = (study, "-o", tmp_path / "rows")
    outcome = installed.run("-m", "gridveil", "sweep", *arguments, "--workers", 1)
    assert outcome.returncode == 0, outcome.stderr
    outcome = installed.run("-m", "gridveil", "results", *arguments, "--json")
    assert outcome.returncode == 0, outcome.stderr
    lines = json.loads(outcome.stdout)
    assert {(line["mechanism"], line["method"]) for line in lines} == {
        (mechanism, method)
        for mechanism in ("polar-laplace", "box-laplace")
        for method in ("central", "limits-only")
    }
    assert all(line["solved"] == 1.0 for line in lines)


def test_results_of_another_version_of_the_package_are_not_mixed_in(installed, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('cases = ["case5_pjm"]\nmethods = ["limits-only"]\ndraws = 1\n')
    arguments = (study, "-o", tmp_path / "rows")
    assert installed.run("-m", "gridveil", "sweep", *arguments, "--workers", 1).returncode == 0
    assert installed.run("-m", "gridveil", "results", *arguments).returncode == 0
    (module,) = installed.packages.glob("gridveil_example/limits_only.py")
    source = module.read_text(encoding="utf-8")
    module.write_text(f"{source}\n# changed\n", encoding="utf-8")
    outcome = installed.run("-m", "gridveil", "results", *arguments)
    module.write_text(source, encoding="utf-8")
    assert outcome.returncode == 2
    assert "no results of this study by this code" in outcome.stderr


def test_a_format(installed, tmp_path):
    compressed = tmp_path / "mine.m.gz"
    compressed.write_bytes(gzip.compress(find_case("case5_pjm").read_bytes()))
    outcome = installed.run("-m", "gridveil", "solve", compressed, "--json")
    assert outcome.returncode == 0, outcome.stderr
    assert json.loads(outcome.stdout)["cost"] == solve_acopf(load_case("case5_pjm")).cost
    outcome = installed.run(
        "-c",
        "import sys, gridveil; gridveil.save_case(gridveil.load_case(sys.argv[1]), sys.argv[2])",
        compressed,
        tmp_path / "again.m.gz",
    )
    assert outcome.returncode == 0, outcome.stderr
    assert gzip.decompress((tmp_path / "again.m.gz").read_bytes()) == gzip.decompress(
        compressed.read_bytes()
    )
    refused = run_python(sys.executable, "-m", "gridveil", "solve", compressed)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_help_names_them(installed):
    outcome = installed.run("-m", "gridveil", "release", "--help")
    assert "box-laplace" in outcome.stdout
    assert "limits-only" in outcome.stdout


PYTHON = """
import sys
from pathlib import Path

from gridveil import MechanismSettings, Study, audit, release, results, simulate, sweep, verify
from gridveil_example.box_laplace import BoxLaplace
from gridveil_example.limits_only import LimitsOnly

folder = Path(sys.argv[1])
by_name = {"mechanism": "box-laplace", "method": "limits-only"}
own = {"mechanism": BoxLaplace.from_settings(MechanismSettings(1, 0.1)), "method": LimitsOnly()}

for kind, strategies in (("name", by_name), ("object", own)):
    made = release("case5_pjm", folder / f"{kind}.sqlite", beta=0.05, **strategies)
    made.save(folder / kind)
    assert made.certificate.protection.mechanism == "box-laplace"
    assert verify(folder / kind).ok
    study = simulate("case5_pjm", beta=0.05, seed=3, **strategies)
    assert study.restored.status.solved and study.restored.method == "limits-only"
    result = audit(strategies["mechanism"], trials=20_000)
    assert result.epsilon_lower_bound <= result.epsilon_claimed == 1.0

study = Study(cases=("case5_pjm",), mechanisms=("box-laplace",), methods=("limits-only",), draws=2)
sweep(study, folder / "rows", workers=1)
(line,) = results(study, folder / "rows")
assert (line["method"], line["draws"], line["solved"]) == ("limits-only", 2, 1.0)
print("all five work")
"""


def test_the_same_from_python_by_name_and_as_objects(installed, tmp_path):
    outcome = installed.run("-c", PYTHON, tmp_path)
    assert outcome.stdout == "all five work\n", outcome.stderr
