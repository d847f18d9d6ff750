"""Releases and a ledger that tell different histories are found."""

import json
import shutil
from pathlib import Path

import pytest

from gridveil import ledger, release
from gridveil.publication.certificate import Certificate
from gridveil.publication.ledger_comparison import RowState

DATA = Path(__file__).parent / "data"


def make(place, folder, release_id):
    release("case5_pjm", place, beta=0.1, release_id=release_id).save(folder / release_id)
    return folder / release_id


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """Two copies of a ledger that both went on, and their releases."""
    folder = tmp_path_factory.mktemp("ledgers")
    one, other = folder / "one.sqlite", folder / "other.sqlite"
    common = make(one, folder, "common")
    shutil.copy(one, other)
    return {
        "one": one, "other": other, "common": common,
        "mine": make(one, folder, "mine"), "theirs": make(other, folder, "theirs"),
    }  # fmt: skip


def states(certificates, place):
    return [row.state for row in ledger.compare(certificates, place)]


def alone(certificates):
    return [row.state for row in ledger.compare(certificates, alone=True)]


def test_a_row_that_two_releases_claim_is_found(forked):
    both = [forked["mine"], forked["theirs"]]
    assert states(both, forked["one"]) == [RowState.TWICE, RowState.OTHER]
    assert states(both, forked["other"]) == [RowState.OTHER, RowState.TWICE]


def test_two_releases_are_enough_without_their_ledger(forked, tmp_path):
    both = [forked["mine"], forked["theirs"]]
    assert alone(both) == [RowState.TWICE, RowState.TWICE]
    assert alone([forked["common"], forked["mine"]]) == [RowState.ALONE, RowState.ALONE]
    another = tmp_path / "another.sqlite"
    ledger.cap(2, ledger=another)
    assert states([forked["common"]], another) == [RowState.ELSEWHERE]


def test_the_same_draw_published_twice_is_no_contradiction(forked, tmp_path):
    again = release("case5_pjm", forked["one"], beta=0.2, release_id="common")
    again.save(tmp_path / "again")
    folders = [forked["common"], tmp_path / "again", forked["mine"] / "certificate.json"]
    assert states(folders, forked["one"]) == [RowState.FOUND] * 3


def test_releases_of_earlier_versions_name_no_row(forked):
    old = next(path.parent for path in sorted(DATA.rglob("certificate.json")))
    [row] = ledger.compare([old], forked["one"])
    assert row.state is RowState.UNKNOWN
    assert row.state.ok


def test_the_row_of_another_release_is_no_release_of_ones_own(forked, tmp_path):
    """Whoever forges a certificate has the row and the hash of one that was published."""
    copied = json.loads((forked["common"] / "certificate.json").read_text())
    copied["release_id"] = "never charged"
    forged = Certificate.model_validate_json(json.dumps(copied)).sealed()
    folder = tmp_path / "forged"
    folder.mkdir()
    (folder / "certificate.json").write_bytes(forged.to_bytes())
    assert states([folder], forked["one"]) == [RowState.OTHER]
    both = alone([folder, forked["common"]])
    assert both == [RowState.TWICE, RowState.TWICE]
