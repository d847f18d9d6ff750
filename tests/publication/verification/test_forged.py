"""Forged releases that contradict themselves nowhere are found by what they claim."""

import pytest

from gridveil import release, verify
from gridveil.claims import ClaimVerdict
from tests.publication.forging import Forgery, broken


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    release("case5_pjm", folder / "ledger.sqlite", beta=0.05, release_id="one").save(folder / "out")
    return folder / "out"


@pytest.fixture
def forged(made):
    return Forgery.of(made)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def verdict(folder, name):
    """Return the verdict of the one claim of a name."""
    (found,) = (claim.verdict for claim in verify(folder).claims if claim.name == name)
    return found


def test_what_is_written_unchanged_verifies(forged, out):
    assert broken(forged.write(out)) == []
    forged.state_again()
    forged.compute_again()
    assert broken(forged.write(out)) == []


def test_a_page_of_another_version_has_to_be_verified_with_that_version(forged, out):
    forged.content["software"]["gridveil"] = "0.2.9"
    assert broken(forged.write(out)) == []  # as we draw it, whoever drew it
    forged.write(out)
    forged.files["report.html"] = (
        (out / "report.html").read_bytes().replace("ε = 1".encode(), "ε = 0.001".encode())
    )
    forged.write(out, page=False)
    assert broken(out) == ["report.html"]
    assert verdict(out, "report.html") is ClaimVerdict.UNCHECKED
    (found,) = (claim.found for claim in verify(out).claims if claim.name == "report.html")
    assert "verify with Gridveil 0.2.9" in found


def test_a_page_of_another_version_with_a_script_is_broken(forged, out):
    forged.content["software"]["gridveil"] = "0.2.9"
    page = forged.files["report.html"]
    forged.files["report.html"] = page.replace(b"<main>", b"<main><script>1</script>")
    assert verdict(forged.write(out, page=False), "report.html") is ClaimVerdict.BROKEN
