"""What version 0.2 made is still read: its folders verify, its ledger has the same draws."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from gridveil import Ledger, load_case, plan_release, release, verify
from gridveil.claims import ClaimVerdict
from gridveil.publication.certificate_file import read_certificate
from tests.cases import TINY

MADE = Path(__file__).parent / "data" / "version-2"
"""A ledger and three releases of the network TINY, made by `gridveil release tiny.m --beta 0.05`,
with `--cost-budget 0.5`, and with `--method admm` (from a ledger of its own)."""


@pytest.mark.parametrize("name", ["release", "bought", "admm"])
def test_its_folders_verify(name):
    result = verify(MADE / name)
    assert result.ok, [claim for claim in result.claims if not claim.ok]
    verdicts = {claim.name: claim.verdict for claim in result.claims}
    assert verdicts["report.html"] is ClaimVerdict.STATED  # drawn by another version
    assert not result.private_as_a_whole


def test_its_signature_holds():
    result = verify(MADE / "release", MADE / "key.pub")
    assert result.ok
    assert result.signature.is_genuine


def test_a_script_in_its_page_is_found(tmp_path):
    shutil.copytree(MADE / "release", tmp_path / "out")
    page, path = tmp_path / "out" / "report.html", tmp_path / "out" / "certificate.json"
    page.write_text(page.read_text().replace("<main>", "<main><script>alert(1)</script>"))
    read = read_certificate(path.read_bytes())
    assert read.version == 2
    names = {claim.name for claim in verify(tmp_path / "out").claims if not claim.ok}
    assert "digest of report.html" in names


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("release", {"costs": "derived", "declare_public": "costs"}),
        ("bought", {"cost_budget": "0.5"}),
    ],
)
def test_the_same_choices_have_the_same_id_and_the_same_draw(tmp_path, name, choices):
    shutil.copy(MADE / "ledger.sqlite", tmp_path / "ledger.sqlite")
    (tmp_path / "tiny.m").write_text(TINY.text())
    network, ledger = load_case(tmp_path / "tiny.m"), Ledger(tmp_path / "ledger.sqlite")
    stated = read_certificate((MADE / name / "certificate.json").read_bytes()).certificate
    plan = plan_release(network, mechanism="polar-laplace", beta="0.05", ledger=ledger, **choices)
    assert plan.release_id == stated.release_id
    assert plan.charge.is_drawn
    made = release(network, ledger, mechanism="polar-laplace", beta="0.05", **choices)
    assert made.certificate.drawn_at == stated.drawn_at
    assert {account.spent for account in ledger.accounts()} == {Fraction(2)}
