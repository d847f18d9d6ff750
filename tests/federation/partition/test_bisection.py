"""Parts have few lines between them, and parts without a connection are cut apart first."""

import numpy as np

from gridveil import load_case
from gridveil.federation.partition.bisection import bisect
from gridveil.federation.partition.ownership import partition

NETWORK = load_case("case39_epri")


def test_parts_have_few_lines_between_them():
    found = partition(NETWORK, 5)
    ends = zip(NETWORK.lines.from_bus, NETWORK.lines.to_bus, strict=True)
    between = sum(found.buses[a] != found.buses[b] for a, b in ends)
    assert between < len(NETWORK.lines) / 3  # at random it would be four fifths


def test_what_is_not_connected_is_separated():
    ends = np.array([0, 2, 4, 1, 3, 5])
    other_ends = np.array([2, 4, 6, 3, 5, 7])  # a path of the even nodes, one of the odd ones
    parts = bisect(ends, other_ends, 8, 2).tolist()
    assert parts[0] == parts[2] == parts[4] == parts[6]
    assert parts[1] == parts[3] == parts[5] == parts[7] == 1 - parts[0]
