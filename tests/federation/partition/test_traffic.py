"""Which parties exchange messages, and how much: neighbours, and no others."""

from gridveil import load_case
from gridveil.federation.partition.ownership import partition
from gridveil.federation.partition.traffic import traffic

NETWORK = load_case("case39_epri")


def test_only_parties_that_share_a_bus_exchange_messages():
    found = partition(NETWORK, 5)
    links = traffic(NETWORK, found)
    pairs = {(link.sender, link.receiver) for link in links}
    assert {(b, a) for a, b in pairs} == pairs
    ends = zip(NETWORK.lines.from_bus, NETWORK.lines.to_bus, found.lines, strict=True)
    shared = {frozenset((owner, found.buses[bus])) for a, b, owner in ends for bus in (a, b)}
    assert {frozenset(pair) for pair in pairs} == {pair for pair in shared if len(pair) == 2}
    by_pair = {(link.sender, link.receiver): link for link in links}
    for (a, b), link in by_pair.items():
        assert link.copies == by_pair[b, a].consensus
        assert link.penalties == link.copies  # all that is shared here are ends of lines
