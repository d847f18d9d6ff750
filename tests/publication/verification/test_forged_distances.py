"""Certificates of relative promises and of distances per load: what does not follow is found."""

import json

import pytest
from pydantic import ValidationError

from gridveil import PublicRatings, release, verify
from gridveil.claims import ClaimVerdict
from tests.publication.forging import Forgery, broken

RATINGS = PublicRatings.of(["400", "400.5", "630"], "a grid map")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A relative release and a rated one."""
    folder = tmp_path_factory.mktemp("made")
    for name, choices in (
        ("relative", {"hide": "10%"}),
        ("rated", {"hide": "10%rating", "ratings": RATINGS}),
    ):
        made = release("case5_pjm", folder / f"{name}.sqlite", beta=0.05, **choices)
        made.save(folder / name)
    return folder


@pytest.fixture
def relative(folders):
    return Forgery.of(folders / "relative")


@pytest.fixture
def rated(folders):
    return Forgery.of(folders / "rated")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.mark.parametrize("name", ["relative", "rated"])
def test_they_verify(folders, name):
    found = verify(folders / name)
    assert found.ok
    assert [c.name for c in found.claims if c.verdict is ClaimVerdict.PROVED] == ["promise"]
    assert Forgery.of(folders / name).content["private_as_a_whole"]


def test_a_relative_promise_says_what_it_hides(folders):
    of = Forgery.of(folders / "relative").protection
    assert (of["kind"], of["relative_distance"], of["floor_mva"]) == ("relative", 0.1, 0.25)
    assert (of["alpha_pu"], of["alpha_mva"], of["cumulative_distance_mva"]) == (None, None, None)
    assert of["cumulative_relative_distance"] == 0.1
    assert "10 %" in of["promise"]


def test_a_rated_promise_has_every_rating_and_the_share(folders):
    of = Forgery.of(folders / "rated").protection
    assert json.loads(of["parameters"]["ratings"]) == ["400", "400.5", "630"]
    assert (of["parameters"]["share"], of["parameters"]["source"]) == ("1/10", "a grid map")
    assert "at most 10 % of its public rating" in of["promise"]
    assert (of["alpha_pu"], of["noise_scale_pu"]) == (None, None)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("relative_distance", 0.2, {"promise", "scale of the noise", "parameters"}),
        ("floor_pu", 0.02, {"promise", "parameters", "floor in MVA"}),
        ("floor_mva", 2.0, {"floor in MVA"}),
        ("noise_scale_pu", 0.05, {"scale of the noise"}),
        ("grid_step_pu", 2e-4, {"scale of the noise", "parameters"}),
        ("epsilon", 0.5, {"promise", "scale of the noise", "parameters"}),
        ("metric", "|ΔP| + |ΔQ|", {"metric"}),
        ("cumulative_epsilon", 0.5, {"cumulative ε"}),
        ("cumulative_relative_distance", None, {"cumulative ε"}),
        ("cumulative_relative_distance", 1.0, {"cumulative ε"}),
    ],
)
def test_no_figure_of_a_relative_promise_is_free(relative, out, field, value, found):
    relative.protection[field] = value
    assert found <= set(broken(relative.write(out)))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("distance", "1/5"), ("distance", "0.1"), ("floor", "1/50"), ("step", "1/1000"),
        ("epsilon", "2"), ("floor", "1e999999999"), ("extra", "1"),
    ],
)  # fmt: skip
def test_no_parameter_of_a_relative_promise_is_free(relative, out, parameter, value):
    relative.protection["parameters"][parameter] = value
    assert "parameters" in broken(relative.write(out))


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "absolute"},
        {"alpha_pu": 0.1, "alpha_mva": 10.0},
        {"relative_distance": None},
        {"floor_mva": None},
        {"cumulative_distance_mva": 10.0},
        {"kind": "log"},
    ],
)
def test_distances_of_two_kinds_do_not_mix(relative, out, changes):
    relative.protection.update(changes)
    with pytest.raises(ValidationError):
        relative.write(out)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("ratings", '["400","400.5"]'),
        ("ratings", '["400","400.50","630"]'),
        ("ratings", '["400", "400.5", "631"]'),
        ("ratings", '["1e999999999","1","1"]'),
        ("ratings", "[" * 100_000),
        ("ratings", "[NaN, 1, 2]"),
        ("ratings", "5"),
        ("share", "1/5"),
        ("share", "1e999999999"),
        ("noise", "polar-laplace"),
        ("base_mva", "10"),
        ("step", "1"),
        ("extra", "1"),
    ],
)
def test_no_parameter_of_a_rated_promise_is_free(rated, out, parameter, value):
    before = rated.protection["parameters"].get(parameter)
    rated.protection["parameters"][parameter] = value
    found = broken(rated.write(out))
    if parameter in ("noise", "ratings") and value in ("polar-laplace", '["400", "400.5", "631"]'):
        # The owner may have drawn so: then ε holds by the same theorem, as a certificate says it.
        assert found == ["interval for the true cost"] or found == []
    else:
        assert {"parameters", "promise"} & set(found), before


def test_a_rated_promise_has_no_single_distance(rated, out):
    rated.protection.update(
        alpha_pu=0.1, alpha_mva=10.0, cumulative_distance_mva=10.0, cumulative_differs=False
    )
    assert "distance" in broken(rated.write(out))
