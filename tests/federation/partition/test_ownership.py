"""Who owns what: complete, and checked when it is read."""

import pytest

from gridveil import load_case
from gridveil.errors import GridveilError
from gridveil.federation.partition.ownership import (
    component_names,
    partition,
    read_partition,
    write_partition,
)

NETWORK = load_case("case39_epri")


@pytest.mark.parametrize("count", [1, 2, 5, 10, 39])
def test_parts_are_of_a_size_and_every_component_has_a_party(count):
    found = partition(NETWORK, count)
    assert len(found.parties) == count
    sizes = [found.buses.count(party) for party in found.parties]
    assert max(sizes) - min(sizes) <= 1
    owners = (found.buses, found.loads, found.generators, found.lines)
    for named, parties in zip(component_names(NETWORK).values(), owners, strict=True):
        assert len(named) == len(parties)


def test_a_file_is_read_back(tmp_path):
    found = partition(NETWORK, 5)
    write_partition(found, NETWORK, tmp_path / "parties.csv")
    assert read_partition(tmp_path / "parties.csv", NETWORK) == found


def test_by_a_column_of_the_bus_table():
    network = load_case("case73_ieee_rts")
    assert partition(network, by="area").parties == ("area-1", "area-2", "area-3")
    with pytest.raises(GridveilError, match="no column 'owner'; it has bus_i"):
        partition(network, by="owner")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "line 46 belongs to no party"),
        (lambda rows: [*rows, rows[3]], ":118: bus 3 is listed twice"),
        (lambda rows: [*rows, "bus,99,a"], ":118: the network has no bus 99"),
        (lambda rows: [*rows, "bus,-1,a"], ":118: the network has no bus -1"),
        (lambda rows: [*rows, "moon,1,a"], "no such component 'moon'; there are bus, load"),
        (lambda rows: [*rows[:1], "bus,1,a b", *rows[2:]], ":2: 'a b' cannot be a name"),
        (lambda rows: [*rows[:1], "bus,1,coordinator", *rows[2:]], ":2: .*is reserved"),
        (lambda rows: ["component,number", *rows[1:]], "no column party"),
        (lambda rows: rows[:1], r"bus 1 \(and 115 more\) belongs to no party"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path, change, message):
    path = tmp_path / "parties.csv"
    write_partition(partition(NETWORK, 3), NETWORK, path)
    rows = path.read_text().splitlines()
    path.write_text("\n".join(change(rows)) + "\n")
    with pytest.raises(GridveilError, match=message):
        read_partition(path, NETWORK)


@pytest.mark.parametrize("count", [0, -1, 40])
def test_impossible_numbers_of_parties(count):
    with pytest.raises(GridveilError, match="must be from 1 to 39"):
        partition(NETWORK, count)


def test_nothing_is_overwritten(tmp_path):
    path = tmp_path / "parties.csv"
    path.write_text("mine")
    with pytest.raises(GridveilError, match="not overwritten"):
        write_partition(partition(NETWORK, 3), NETWORK, path)
    assert path.read_text() == "mine"


def test_a_name_stands_for_its_network():
    assert partition("case39_epri", 5) == partition(NETWORK, 5)


@pytest.mark.parametrize("choice", [{}, {"parties": 2, "by": "area"}])
def test_parties_are_chosen_in_one_way(choice):
    with pytest.raises(GridveilError, match="either parties, their number, or by"):
        partition(NETWORK, **choice)
