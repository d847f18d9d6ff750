"""Public ratings of loads: read from a file, or from a pandapower net."""

from fractions import Fraction

import pytest

from gridveil import load_case
from gridveil.errors import GridveilError
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.privacy.ratings import PublicRatings, ratings_of, read_ratings

NETWORK = load_case("case5_pjm")


def test_ratings_are_read_exactly_and_in_the_order_of_loads(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("rating_mva,bus\n0.1,4\n400,2\n630,3\n7,99\n")
    found = read_ratings(path, NETWORK, "grid map of 2026")
    assert found.mva == (400, 630, Fraction(1, 10))
    assert found.texts() == ["400", "630", "0.1"]
    assert found.source == "grid map of 2026"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("2,400\n3,400\n", "no rating for bus 4"),
        ("2,400\n2,400\n", ":3: bus 2 is there twice"),
        ("2,400\n3,-1\n4,1\n", ":3: rating_mva must be above 0"),
        ("2,400\n3,x\n4,1\n", ":3: rating_mva"),
        ("two,400\n", ":2: bus"),
        ("2,1,000\n", "thousands"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, rows, says):
    path = tmp_path / "ratings.csv"
    path.write_text(f"bus,rating_mva\n{rows}")
    with pytest.raises(GridveilError, match=says):
        read_ratings(path, NETWORK, "a map")


def test_ratings_have_a_source_and_fit_the_network():
    with pytest.raises(GridveilError, match="source"):
        PublicRatings.of([1, 2, 3], " ")
    with pytest.raises(GridveilError, match="decimals"):
        PublicRatings.of(["1/3"], "a map")
    with pytest.raises(GridveilError, match="load 2 must be above 0"):
        PublicRatings.of([1, 0, 3], "a map")
    with pytest.raises(GridveilError, match="2 loads for a network of 3"):
        ratings_of(PublicRatings.of([1, 2], "a map"), "", NETWORK)


def net(*ratings):
    pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")
    made = pandapower.create_empty_network(name="feeder", sn_mva=1)
    buses = pandapower.create_buses(made, 3, 20.0, min_vm_pu=0.9, max_vm_pu=1.1)
    for one, other in ((0, 1), (1, 2)):
        pandapower.create_line_from_parameters(
            made, buses[one], buses[other], 1.0, 0.2, 0.3, 10.0, 0.3
        )
    pandapower.create_ext_grid(
        made, buses[0], min_p_mw=-50, max_p_mw=50, min_q_mvar=-50, max_q_mvar=50
    )
    pandapower.create_poly_cost(made, 0, "ext_grid", 1.0)
    for bus, rating in zip((1, 1, 2), ratings, strict=True):
        pandapower.create_load(made, buses[bus], 0.3, 0.1, sn_mva=rating)
    return made


def test_the_column_of_a_net_is_taken_when_it_is_said_to_be_public():
    found = ratings_of("sn_mva", "contracts", network_from_net(net(0.4, 0.6, 2.5), "feeder"))
    assert list(map(float, found.mva)) == [0.4, 0.6, 2.5]
    assert found.source == "contracts"


def test_the_column_of_a_net_is_never_taken_silently():
    """In nets made with create_load_from_cosphi it is the load itself."""
    network = network_from_net(net(0.4, 0.6, 2.5), "feeder")
    with pytest.raises(GridveilError, match=r"--ratings FILE.*if it is public"):
        ratings_of(None, "", network)
    with pytest.raises(GridveilError, match="--ratings-source"):
        ratings_of("sn_mva", "", network)


def test_a_load_of_a_net_without_a_rating_is_named():
    with pytest.raises(GridveilError, match=r"no rating for bus \d+"):
        ratings_of("sn_mva", "map", network_from_net(net(0.4, float("nan"), 2.5), "feeder"))
    with pytest.raises(GridveilError, match="no such column"):
        ratings_of("sn_mva", "map", network_from_net(net(*[float("nan")] * 3), "feeder"))
