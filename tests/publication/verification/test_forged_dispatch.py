"""Forged claims about a dispatch, or about none, are found, however well figures fit each other."""

import pytest
from pydantic import ValidationError

from gridveil import release, verify
from tests.cases import network_without_costs
from tests.publication.forging import Forgery, broken


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    network = network_without_costs("case14_ieee")
    for band in ("dispatch", "none"):
        made = release(
            network, folder / "ledger.sqlite", release_id="one", band=band, alpha="0.1",
            mechanism="polar-laplace",
        )  # fmt: skip
        made.save(folder / band)
    return folder


@pytest.fixture
def forged(made):
    return Forgery.of(made / "dispatch")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def test_what_is_written_unchanged_verifies(made, forged, out):
    forged.state_again()
    assert broken(forged.write(out)) == []
    nothing = Forgery.of(made / "none")
    nothing.state_again()
    assert broken(nothing.write(out)) == []


def test_another_dispatch_p_star_is_found(forged, out):
    forged.content["dispatch"]["megawatts"][0] += 20.0
    found = broken(forged.write(out))
    assert "largest deviation from p*" in found
    assert "dispatch keeps β" in found
    assert "proportional dispatch from p*" in found


def test_a_deviation_that_is_made_smaller_is_found(forged, out):
    forged.fidelity["largest_deviation"] /= 2
    assert broken(forged.write(out)) == ["largest deviation from p*"]


def test_a_proportional_dispatch_that_is_made_nearer_or_left_out_is_found(forged, out):
    forged.fidelity["proportional_deviation"] += 0.001
    assert broken(forged.write(out)) == ["proportional dispatch from p*"]
    forged.fidelity["proportional_deviation"] = None
    assert broken(forged.write(out)) == ["proportional dispatch from p*"]


def test_more_digits_than_beta_can_use_are_found(forged, out):
    forged.content["dispatch"]["megawatts"][0] += 0.001
    assert "digits of p*" in broken(forged.write(out))


def test_a_narrower_band_than_was_kept_is_found(forged, out):
    forged.fidelity["beta"] = 1e-4
    forged.fidelity["promise"] = forged.fidelity["promise"].replace("0.01", "0.0001")
    assert broken(forged.write(out)) == ["dispatch keeps β"]


def test_a_promise_in_other_words_is_found(forged, out):
    forged.fidelity["promise"] = "there is a way to run it that comes within 0.01 of the costs O*"
    assert broken(forged.write(out)) == ["promise about dispatch"]


def test_a_method_that_knows_no_such_band_promises_something_else(forged, out):
    forged.fidelity["method"] = "bilevel"
    assert set(broken(forged.write(out))) == {"promise about dispatch", "dispatch keeps β"}


def test_another_source_of_the_dispatch_is_found(forged, out):
    forged.content["dispatch"]["source"] = forged.content["dispatch"]["source"].replace(
        "proportional ", "optimal "
    )
    forged.state_again()
    assert broken(forged.write(out)) == ["source of p*"]


def test_a_dispatch_of_raw_loads_is_not_private_as_a_whole(forged, out):
    forged.content["dispatch"].update(
        provenance="derived",
        source="computed from the raw loads by proportional dispatch; not protected by the noise",
    )
    broken_parts = broken(forged.write(out))
    assert {"private as a whole", "what is public", "what is not covered"} <= set(broken_parts)
    forged.state_again()
    checked = verify(forged.write(out))
    assert checked.ok
    assert checked.private_as_a_whole is False


def test_a_generator_that_is_left_out_is_found(forged, out):
    forged.content["dispatch"]["generators"].pop()
    forged.content["dispatch"]["megawatts"].pop()
    assert "generators with p*" in broken(forged.write(out, page=False))


def test_a_total_that_nothing_needs_is_not_paid_for(made, out):
    forged = Forgery.of(made / "none")
    forged.protection["epsilon_costs"] = 0.1
    forged.state_again()
    assert "paid for costs" in broken(forged.write(out))


@pytest.mark.parametrize(
    ("band", "part"), [("none", "dispatch"), ("cost", "dispatch"), ("dispatch", "none")]
)
def test_a_band_comes_with_its_own_figures_and_no_others(made, band, part, out):
    forged = Forgery.of(made / part)
    forged.fidelity["band"] = band
    with pytest.raises(ValidationError):
        forged.write(out)
