"""Who owns what, and who talks to whom: complete, checked, and nobody else."""

import pytest

from gridveil import load_case
from gridveil.errors import GridveilError
from gridveil.federation.partition.ownership import (
    numbers,
    partition_by,
    partition_into,
    read_partition,
    traffic,
    write_partition,
)

NETWORK = load_case("case39_epri")


@pytest.mark.parametrize("count", [1, 2, 5, 10, 39])
def test_parts_are_of_a_size_and_every_component_has_a_party(count):
    found = partition_into(NETWORK, count)
    assert len(found.parties) == count
    sizes = [found.buses.count(party) for party in found.parties]
    assert max(sizes) - min(sizes) <= 1
    owners = (found.buses, found.loads, found.generators, found.lines)
    for named, parties in zip(numbers(NETWORK).values(), owners, strict=True):
        assert len(named) == len(parties)


def test_parts_have_few_lines_between_them():
    found = partition_into(NETWORK, 5)
    ends = zip(NETWORK.lines.from_bus, NETWORK.lines.to_bus, strict=True)
    between = sum(found.buses[a] != found.buses[b] for a, b in ends)
    assert between < len(NETWORK.lines) / 3  # at random it would be four fifths


def test_a_file_is_read_back(tmp_path):
    found = partition_into(NETWORK, 5)
    write_partition(found, NETWORK, tmp_path / "parties.csv")
    assert read_partition(tmp_path / "parties.csv", NETWORK) == found


def test_by_a_column_of_the_bus_table():
    network = load_case("case73_ieee_rts")
    assert partition_by(network, "area").parties == ("area-1", "area-2", "area-3")
    with pytest.raises(GridveilError, match="no column 'owner'; it has bus_i"):
        partition_by(network, "owner")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "line 46 belongs to no party"),
        (lambda rows: [*rows, rows[3]], ":118: bus 3 is there twice"),
        (lambda rows: [*rows, "bus,99,a"], ":118: the network has no bus 99"),
        (lambda rows: [*rows, "bus,-1,a"], ":118: the network has no bus -1"),
        (lambda rows: [*rows, "moon,1,a"], "no such kind 'moon'; there are bus, load"),
        (lambda rows: [*rows[:1], "bus,1,a b", *rows[2:]], ":2: 'a b' cannot be a name"),
        (lambda rows: [*rows[:1], "bus,1,coordinator", *rows[2:]], ":2: .*is kept"),
        (lambda rows: ["component,number", *rows[1:]], "no column party"),
        (lambda rows: rows[:1], r"bus 1 \(and 115 more\) belongs to no party"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path, change, message):
    path = tmp_path / "parties.csv"
    write_partition(partition_into(NETWORK, 3), NETWORK, path)
    rows = path.read_text().splitlines()
    path.write_text("\n".join(change(rows)) + "\n")
    with pytest.raises(GridveilError, match=message):
        read_partition(path, NETWORK)


@pytest.mark.parametrize("count", [0, -1, 40])
def test_impossible_numbers_of_parties(count):
    with pytest.raises(GridveilError, match="must be from 1 to 39"):
        partition_into(NETWORK, count)


def test_only_those_who_share_a_bus_talk():
    found = partition_into(NETWORK, 5)
    links = traffic(NETWORK, found)
    pairs = {(link.sender, link.receiver) for link in links}
    assert {(b, a) for a, b in pairs} == pairs
    ends = zip(NETWORK.lines.from_bus, NETWORK.lines.to_bus, found.lines, strict=True)
    shared = {frozenset((owner, found.buses[bus])) for a, b, owner in ends for bus in (a, b)}
    assert {frozenset(pair) for pair in pairs} == {pair for pair in shared if len(pair) == 2}
    by_pair = {(link.sender, link.receiver): link for link in links}
    for (a, b), link in by_pair.items():
        assert link.copies == by_pair[b, a].answers
        assert link.penalties == link.copies  # all that is shared here are ends of lines
