"""A slice has all that its party needs, and nothing that is another's."""

import hashlib
import json
import re

import numpy as np
import pytest

from gridveil import PublicCosts, load_case, solve_acopf
from gridveil.errors import GridveilError
from gridveil.federation.partition.local_agents import build_local_agents
from gridveil.federation.partition.ownership import partition, write_partition
from gridveil.federation.partition.slices import Slice, parse_slice
from gridveil.federation.partition.splitting import split, write_slices
from gridveil.network.surroundings import branch_digest
from gridveil.privacy.ledger.matching import branches_of
from gridveil.publication.costs import derived_costs

NETWORK = load_case("case39_epri")
COSTS = solve_acopf(NETWORK).generator_costs
PARTITION = partition(NETWORK, 5)
SLICES = split(NETWORK, PARTITION, PublicCosts.published(COSTS, "a report"))


def test_a_slice_survives_its_text():
    for part in SLICES:
        assert parse_slice(part.model_dump_json().encode(), "here") == part


def test_together_slices_are_the_network():
    assert sorted(load.bus for part in SLICES for load in part.loads) == NETWORK.load_buses
    assert sum(len(part.lines) for part in SLICES) == len(NETWORK.lines)
    loads = {load.bus: (load.p, load.q) for part in SLICES for load in part.loads}
    np.testing.assert_array_equal([loads[bus] for bus in NETWORK.load_buses], NETWORK.loads.values)


def marked():
    """Return the network with a number of its own in the place of everything that is private."""
    lines, gens, loads = NETWORK.lines, NETWORK.generators, NETWORK.loads
    marks = iter(1.0 + np.arange(1, 2000) * 0.000123457)

    def fresh(array):
        return np.array([next(marks) for _ in range(array.size)]).reshape(array.shape)

    from dataclasses import replace

    costs = replace(gens.costs, coefficients=fresh(gens.costs.coefficients))
    return replace(
        NETWORK,
        loads=replace(loads, p=fresh(loads.p), q=fresh(loads.q)),
        generators=replace(
            gens, p_min=fresh(gens.p_min), p_max=fresh(gens.p_max), q_min=fresh(gens.q_min),
            q_max=fresh(gens.q_max), costs=costs,
        ),
        lines=replace(lines, r=fresh(lines.r), x=fresh(lines.x), b=fresh(lines.b),
                      rate=fresh(lines.rate)),
    ), fresh(gens.p_min)  # fmt: skip


def test_no_slice_has_another_partys_numbers():
    network, costs = marked()
    slices = split(network, PARTITION, PublicCosts.published(costs, "a report"))
    texts = {part.party: part.model_dump_json() for part in slices}
    for part in slices:
        own = [
            *(value for load in part.loads for value in (load.p, load.q)),
            *(value for line in part.lines for value in (line.r, line.x, line.b, line.rate)),
            *(
                value
                for gen in part.generators
                for value in (
                    gen.p_min, gen.p_max, gen.q_min, gen.q_max, gen.public_cost, *gen.coefficients,
                )
            ),
        ]  # fmt: skip
        assert own
        for value in own:
            found = re.compile(rf"(?<![\d.]){re.escape(repr(value))}(?!\d)")
            having = {party for party, text in texts.items() if found.search(text)}
            assert having == {part.party}, value


def test_both_sides_call_what_they_share_the_same():
    exchanges = {
        (part.party, exchange.neighbour): exchange
        for part in SLICES
        for exchange in build_local_agents(part, 0.1).exchanges
    }
    for (mine, theirs), exchange in exchanges.items():
        back = exchanges[theirs, mine]
        assert exchange.digest == back.digest
        assert (len(exchange.away), len(exchange.foreign)) == (len(back.foreign), len(back.away))


def test_true_loads_stay_out_of_what_is_printed():
    network, costs = marked()
    part = split(network, PARTITION, PublicCosts.published(costs, "a report"))[0]
    assert part.loads
    for load in part.loads:
        assert repr(load.p) not in repr(part)
        assert repr(load.q) not in repr(part)
        assert repr(load.p) in part.model_dump_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("party"), "party"),
        (lambda content: content.update(extra=1), "extra"),
        (lambda content: content["loads"][0].update(p="many"), "loads.0.p"),
        (lambda content: content.update(format="other"), "format"),
        (lambda content: content["loads"][0].update(bus=10**6), "the file: .*do not agree on"),
        (lambda content: content["lines"].append(content["lines"][0]), "the file: .*do not agree"),
        (lambda content: content.update(base_mva=0.0), "base_mva"),
    ],
)
def test_a_broken_slice_is_refused_with_its_place(change, message):
    content = json.loads(SLICES[0].model_dump_json())
    change(content)
    with pytest.raises(GridveilError, match=f"here: {message}") as caught:
        parse_slice(json.dumps(content).encode(), "here")
    assert repr(SLICES[0].loads[0].q) not in str(caught.value)
    assert isinstance(SLICES[0], Slice)


DIGESTS = ("ed2d9a7f987b5899", "ad8c750de170b5d4", "b48515df4c14d48e")
"""Of the files of 14 buses in three slices, with the costs 1, 2, … $/h."""


def test_the_files_of_slices_stay_as_they_are(tmp_path):
    network = load_case("case14_ieee")
    costs = np.arange(len(network.generators)) + 1.0
    slices = split(network, partition(network, 3), PublicCosts.published(costs, "a report"))
    write_slices(slices, tmp_path / "slices")
    for part, digest in zip(slices, DIGESTS, strict=True):
        data = (tmp_path / "slices" / f"{part.party}.json").read_bytes()
        assert hashlib.sha256(data).hexdigest()[:16] == digest
        assert parse_slice(data, "here") == part


def test_slices_of_before_are_read():
    """They have no keys and no branches: their loads are known by their buses."""
    for part in SLICES:
        content = json.loads(part.model_dump_json())
        del content["plausible_mva"]
        for load in content["loads"]:
            del load["keys"], load["branches"]
        read = parse_slice(json.dumps(content).encode(), "here")
        assert read.load_keys == part.load_keys
        assert read.true_loads().tolist() == part.true_loads().tolist()


def test_a_slice_has_digests_of_its_own_branches_only():
    network = load_case("case14_ieee")
    owned = partition(network, 3)
    for part in split(network, owned, PublicCosts.published(np.ones(5), "a report")):
        own = {branch_digest(line.r, line.x, line.b) for line in part.lines}
        scaled = {branch_digest(x.r / 100, x.x / 100, x.b * 100) for x in part.lines}
        around = frozenset(token for load in part.loads for token in load.branches)
        assert branches_of(around) <= own | scaled, "others are topology, which is public"


def test_costs_come_from_the_raw_loads_by_declaration_only(tmp_path):
    path = tmp_path / "parties.csv"
    write_partition(PARTITION, NETWORK, path)
    derived = derived_costs(NETWORK)
    slices = split("case39_epri", path, "derived", declare_public="costs")
    assert slices == split(NETWORK, PARTITION, derived, declare_public="costs")
    assert {part.costs_derived for part in slices} == {derived.derived_digest} != {""}
    for costs in (derived, "derived"):
        with pytest.raises(GridveilError, match="no noise protects"):
            split(NETWORK, PARTITION, costs)
    for costs in (None, "private"):
        with pytest.raises(GridveilError, match="that no party has drawn yet"):
            split(NETWORK, PARTITION, costs)
    with pytest.raises(GridveilError, match="with known --costs only"):
        split(NETWORK, PARTITION, costs_source="a report")
