"""What version 0.1 made is still read: its folders verify, its ledger has the same draws."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from gridveil import Ledger, load_case, plan_release, release, verify
from gridveil.publication.certificate_file import read_certificate
from tests.cases import TINY

MADE = Path(__file__).parent / "data" / "version-1"
"""A ledger and two releases of the network TINY, made by `gridveil release tiny.m --beta 0.05`."""


@pytest.fixture
def ledger(tmp_path):
    shutil.copy(MADE / "ledger.sqlite", tmp_path / "ledger.sqlite")
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def network(tmp_path):
    (tmp_path / "tiny.m").write_text(TINY.text())
    return load_case(tmp_path / "tiny.m")


def rows(made):
    """The numbers of a table of loads, from bytes or from the folder of a release."""
    data = (made / "loads.csv").read_bytes() if isinstance(made, Path) else made
    return [[float(cell) for cell in line.split(",")] for line in data.decode().splitlines()[1:]]


@pytest.mark.parametrize("name", ["release", "bought"])
def test_its_folders_verify(name):
    result = verify(MADE / name)
    assert result.ok, [claim for claim in result.claims if not claim.ok]


def test_its_signature_holds():
    assert verify(MADE / "release", MADE / "key.pub").ok


def test_a_changed_number_is_still_found(tmp_path):
    shutil.copytree(MADE / "release", tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    path.write_text(path.read_text().replace('"epsilon": 1.0,', '"epsilon": 0.5,'))
    names = {claim.name for claim in verify(tmp_path / "out").claims if not claim.ok}
    assert {"digest of the certificate", "promise", "noise scale (p.u.)"} <= names


def test_its_certificate_says_the_same_in_the_terms_of_today():
    read = read_certificate((MADE / "release" / "certificate.json").read_bytes())
    assert read.certificate.version == 3
    assert read.certificate.protection.parameters == {}
    assert not read.certificate.private_as_a_whole  # comments and sections stood as they were
    assert read.computed_digest == read.certificate.digest != read.certificate.computed_digest()


def test_its_ledger_has_the_same_accounts(ledger):
    assert {account.key: account.spent for account in ledger.accounts()} == {
        "bus 2": Fraction(2),
        "bus 7": Fraction(2),
    }


DERIVED = {"costs": "derived", "declare_public": "costs"}


@pytest.mark.parametrize(
    ("name", "choices"), [("release", DERIVED), ("bought", {"cost_budget": "0.5"})]
)
def test_the_same_choices_have_the_same_id_and_the_same_draw(ledger, network, name, choices):
    plan = plan_release(network, mechanism="polar-laplace", beta="0.05", ledger=ledger, **choices)
    stated = read_certificate((MADE / name / "certificate.json").read_bytes()).certificate
    assert plan.release_id == stated.release_id
    assert plan.charge.is_drawn
    again = release(network, ledger, mechanism="polar-laplace", beta="0.05", **choices)
    assert again.certificate.drawn_at == stated.drawn_at
    if name == "release":  # bought costs are now combined with the private loads' own total
        for now, then in zip(rows(again.files["loads.csv"]), rows(MADE / name), strict=True):
            assert (now.pop(1), now.pop()) == (1, 1)  # a load at each bus, all in service
            assert now == pytest.approx(then, rel=1e-3)  # O* has no more digits than β can use
    assert len(ledger.accounts()) == 2
    assert {account.spent for account in ledger.accounts()} == {Fraction(2)}
