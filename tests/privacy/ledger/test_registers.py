"""No load is released beyond its cap under another description, unless its owner says so."""

import itertools
import random
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gridveil import PublicCosts, load_case
from gridveil.errors import GridveilError
from gridveil.federation.deployment.noise import draw_noisy_loads, party_owner, run_mechanism
from gridveil.federation.partition.ownership import partition
from gridveil.federation.partition.splitting import split
from gridveil.federation.protocol.settings import Run
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.network.formats.pandapower_writer import net_from_network
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import BudgetExceededError, Hours, RegisterChoice
from gridveil.privacy.ledger.registers import RegisterUnclearError
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.phase import privatise
from tests.privacy.ledger.grids import Attacker, Grid, asked
from tests.privacy.ledger.owners import draw, owner, spending

GRID = Grid.of("case14_ieee")
RUN = Run(id="run", parties=("a",), mechanism="polar-laplace", epsilon="1", alpha="0.1", beta=0.1)
LARGER = Grid.of("case57_ieee")
OTHER = Grid.of("case5_pjm")

CHARGED = {
    "the same": GRID,
    "rows in another order": GRID.reordered(1),
    "open branches": GRID.opened(0, 3, 9),
    "a branch less": GRID.without_branches(0, 7),
    "isolated buses": GRID.isolated(4, 5),
    "a load less": GRID.with_loads(0.0, 2),
    "a load more": GRID.with_loads(5.0, 6),
    "other loads": GRID.with_loads(1.25, 1, 2, 3),
    "a base of 10 MVA": GRID.with_base(10.0),
    "a base of 7.3 MVA": GRID.with_base(7.3),
    "a base of 1 MVA": GRID.with_base(1.0),
    "another name": replace(GRID, name="another name"),
    "two numbers exchanged": GRID.swapped(2, 3),
    "a part": GRID.part(range(7)),
}
"""What is recognised by itself."""
UNCLEAR = {
    "numbers dealt anew": GRID.permuted(1),
    "other numbers": GRID.permuted(2, 500),
    "other numbers and order": GRID.permuted(3, 500).reordered(2),
    "other numbers and base": GRID.permuted(5, 500).with_base(1.0),
    "three digits of impedances": GRID.rounded(3),
    "two digits and another base": GRID.rounded(2).with_base(1.0),
    "other impedances": GRID.scaled(1.3),
    "other impedances and a branch less": GRID.scaled(1.001).without_branches(5),
    "other numbers and impedances": GRID.scaled(1.001).permuted(7, 500),
    "a larger network it is merged into": LARGER.merged(GRID),
    "other numbers in a larger network": LARGER.merged(GRID.permuted(3, 300).scaled(1)),
    "each load behind a branch of its own": GRID.behind_branches(),
    "a few loads in a larger network": LARGER.merged(GRID.part([3, 4, 6, 8]).permuted(1)),
}
"""What only the owner can say."""


@pytest.fixture
def attacker(tmp_path):
    return Attacker(Ledger(tmp_path / "ledger.sqlite"))


@pytest.mark.parametrize("name", CHARGED)
def test_what_changes_no_key_is_charged_to_the_same_accounts(attacker, name):
    assert attacker.release(GRID) is None
    assert attacker.release(CHARGED[name]) is None
    spent = {f"case14_ieee {a.key[4:]}": a.spent for a in attacker.ledger.accounts()}
    if name == "two numbers exchanged":
        spent = {
            **spent, "case14_ieee 2": spent["case14_ieee 3"],
            "case14_ieee 3": spent["case14_ieee 2"],
        }  # fmt: skip
    for load, told in attacker.told.items():
        assert spent[load] == told or name == "a load more"
    assert len({account.register for account in attacker.ledger.accounts()}) == 1


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_looks_like_a_register_is_refused_until_its_owner_says_which_it_is(attacker, name):
    assert attacker.release(GRID) is None
    refusal = attacker.release(UNCLEAR[name])
    assert isinstance(refusal, RegisterUnclearError)
    assert "--register 'case14_ieee'" in str(refusal)
    assert "--new-register NAME" in str(refusal)
    assert "Nothing was drawn" in str(refusal)
    assert attacker.most == 1
    assert attacker.release(UNCLEAR[name], register="case14_ieee") is None
    assert {a.spent for a in attacker.ledger.accounts() if a.releases > 1} <= {2}


@pytest.mark.parametrize("name", [*CHARGED, *UNCLEAR])
def test_nothing_but_words_brings_a_second_budget(attacker, name):
    other = {**CHARGED, **UNCLEAR}[name]
    for first, second in ((GRID, other), (other, GRID)):
        for grid in (first, second, first):
            attacker.press(grid)
        assert attacker.most == 3
    assert attacker.ledger.inspect().ok


def test_both_of_two_unrelated_networks_of_the_same_numbers_are_released(attacker):
    names = (
        "case3_lmbd",
        "case5_pjm",
        "case14_ieee",
        "case30_ieee",
        "case39_epri",
        "case162_ieee_dtc",
    )
    for name in names:
        assert attacker.release(Grid.of(name), "3") is None
    for name in names:
        assert isinstance(attacker.release(Grid.of(name)), BudgetExceededError)
    assert {a.register for a in attacker.ledger.accounts()} == set(names)


def test_a_second_budget_is_had_in_words_and_these_are_kept(attacker):
    assert attacker.release(GRID, "3") is None
    choice = RegisterChoice("another country", is_new=True)
    attacker.ledger.spend("r", asked(GRID.owner(choice), "3"), lambda: np.zeros((11, 2), int))
    [row] = attacker.ledger.history("another country")[:1]
    assert row.content["others_like_it"] == ["case14_ieee"]
    with pytest.raises(GridveilError, match="there is a register 'another country' already"):
        attacker.ledger.check(asked(GRID.owner(choice)))
    assert isinstance(attacker.release(GRID), RegisterUnclearError), "which of the two is it?"
    attacker.press(GRID)
    assert attacker.most == 3


def test_a_register_that_is_not_there_is_named_with_those_that_are(attacker):
    attacker.release(GRID)
    with pytest.raises(GridveilError, match="no register 'x'; known are: 'case14_ieee'"):
        attacker.ledger.check(asked(GRID.owner(RegisterChoice("x", is_new=False))))


STEPS = {
    "reorder": lambda g, r: g.reordered(r.randrange(99)),
    "open": lambda g, r: g.opened(r.randrange(len(g.branch))),
    "drop": lambda g, r: g.without_branches(r.randrange(len(g.branch))),
    "isolate": lambda g, r: g.isolated(*r.sample(range(len(g.bus)), 2)),
    "remove": lambda g, r: g.with_loads(0.0, *r.sample(range(len(g.bus)), len(g.bus) // 3)),
    "remove most": lambda g, r: g.with_loads(0.0, *r.sample(range(len(g.bus)), len(g.bus) - 4)),
    "add": lambda g, r: g.with_loads(3.0, r.randrange(len(g.bus))),
    "base": lambda g, r: g.with_base(r.choice([1.0, 10.0, 50.0, 100.0])),
}
RENUMBERING = {
    "deal": lambda g, r: g.permuted(r.randrange(99)),
    "renumber": lambda g, r: g.permuted(r.randrange(99), r.choice([200, 700])),
    "exchange": lambda g, r: g.swapped(*map(int, r.sample(g.bus[:, 0].tolist(), 2))),
    "exchange neighbours": lambda g, r: g.swapped(*map(int, r.choice(g.branch[:, :2].tolist()))),
    "cut": lambda g, r: g.part(_connected(g, r)),
    "merge": lambda g, r: g.merged(OTHER, 2000) if len(g.bus) < 30 else g,
}
IMPEDANCES = {
    "round": lambda g, r: g.rounded(r.choice([2, 3])),
    "scale": lambda g, r: g.scaled(r.choice([1.0001, 0.9, 1.3])),
}


def _connected(grid, chance):
    """Return the rows of a connected half of the buses, with a generator."""
    numbers = grid.bus[:, 0].tolist()
    found = [chance.choice(grid.gen[:, 0].tolist())]
    for bus in found:
        ends = grid.branch[:, :2].tolist()
        near = {b for a, b in ends if a == bus} | {a for a, b in ends if b == bus}
        room = max(5, len(numbers) // 2) - len(found)
        found += sorted(near - set(found))[: max(room, 0)]
    return sorted(numbers.index(bus) for bus in found)


@pytest.mark.parametrize("further", [RENUMBERING, IMPEDANCES], ids=["numbers", "impedances"])
def test_no_sequence_of_changes_gets_more_than_the_cap(tmp_path, further):
    steps = {**STEPS, **further}
    released = 0
    for seed in range(25):
        chance = random.Random(seed)
        start = grid = Grid.of(chance.choice(["case14_ieee", "case24_ieee_rts", "case30_as"]))
        attacker = Attacker(Ledger(tmp_path / f"{seed}.sqlite"))
        log = [start.name]
        for _ in range(7):
            if chance.random() < 0.3:
                grid = start
            log.append(chance.choice(sorted(steps)))
            grid = steps[log[-1]](grid, chance)
            names = sorted({account.register for account in attacker.ledger.accounts()})
            said = chance.choice(names) if names and chance.random() < 0.4 else None
            for _ in range(chance.choice([1, 1, 4])):
                refusal = attacker.release(grid, chance.choice("112"), said)
                released += refusal is None
            assert attacker.most <= 3, (seed, log)
        assert attacker.ledger.inspect().ok
        attacker.ledger.close()
    assert released > 50, "an attacker who is always refused shows nothing"


def test_parts_released_apart_are_not_released_again_together(attacker):
    """Two registers know them by then, and neither of them has all of the loads."""
    west, east = GRID.part(range(6)), GRID.part(range(6, 14))
    east = replace(east, name="east")
    assert attacker.release(west, "3") is None
    assert attacker.release(replace(west, name="west")) is not None
    refusal = attacker.release(east, "3")
    assert refusal is None or isinstance(refusal, RegisterUnclearError)
    attacker.press(GRID)
    attacker.press(east)
    assert attacker.most == 3


def test_two_registers_in_one_file_are_not_charged_as_one(attacker):
    assert attacker.release(GRID, "3") is None
    assert attacker.release(OTHER, "1") is None
    both = GRID.merged(OTHER)
    assert isinstance(attacker.release(both), RegisterUnclearError)
    refusal = attacker.release(both, register="case5_pjm")
    assert isinstance(refusal, RegisterUnclearError)
    assert "looks like 'case14_ieee' as well" in str(refusal)
    attacker.press(both)
    assert (attacker.told["case14_ieee 2"], attacker.told["case5_pjm 2"]) == (3, 1)


def test_loads_are_not_charged_to_a_register_that_is_nothing_like_them(attacker):
    assert attacker.release(GRID, "3") is None
    assert attacker.release(OTHER, "1") is None
    assert isinstance(attacker.release(GRID, register="case5_pjm"), RegisterUnclearError)
    assert attacker.most == 3


def test_a_new_load_of_one_of_two_registers_that_look_alike_is_named(attacker):
    """Copies of a network: a load that is new there may be one of the other network."""
    attacker.release(GRID)
    copies = replace(GRID.scaled(1), who=tuple(f"copy {who}" for who in GRID.who))
    choice = RegisterChoice("copies", is_new=True)
    attacker.ledger.spend("r", asked(copies.owner(choice)), lambda: np.zeros((11, 2), int))
    more = copies.with_loads(4.0, 6)
    assert isinstance(attacker.release(more, register="copies"), RegisterUnclearError)
    attacker.ledger.add_loads("copies", ["bus 7"], "a new customer")
    assert attacker.release(more, register="copies") is None


def test_of_two_registers_that_look_alike_one_has_to_be_named(attacker):
    """The digest of one may have moved on: that is no reason to charge the other."""
    assert attacker.release(GRID, "3") is None
    choice = RegisterChoice("copies", is_new=True)
    owner = replace(GRID, who=tuple(f"copy {who}" for who in GRID.who)).owner(choice)
    attacker.ledger.spend("r", asked(owner), lambda: np.zeros((11, 2), int))
    fewer = GRID.with_loads(0.0, 13).owner(RegisterChoice("case14_ieee", is_new=False))
    attacker.ledger.open_register(fewer)
    assert isinstance(attacker.release(GRID), RegisterUnclearError)
    again = attacker.ledger.spend("r", asked(owner), lambda: pytest.fail("drawn again"))
    assert again.shape == (11, 2), "the same words and the same id are the same release"
    assert attacker.most == 3


def test_a_load_that_is_isolated_keeps_its_account(attacker):
    """A load at its neighbour's bus stands among one of its branches, and is another one."""
    grid = Grid.of("case39_epri")
    at, neighbour = (grid.bus[:, 0].tolist().index(number) for number in (27, 17))
    assert attacker.release(grid, "2.9") is None
    assert attacker.release(grid.isolated(at).with_loads(5.0, neighbour), "0.1") is None
    assert spent_of(attacker.ledger)["bus 27"] == Fraction("2.9")
    attacker.press(grid)
    assert attacker.most <= 3


def moved(grid):
    """Return it with the load of bus 14 at bus 7, where there was none."""
    return grid.with_loads(0.0, 13).with_loads(grid.bus[13, 2:4], 6)


def test_a_load_under_a_new_key_has_the_caps_of_what_it_may_be(attacker):
    assert attacker.release(GRID) is None
    attacker.ledger.set_cap("1", "case14_ieee", ["bus 14"], reason="its owner's wish")
    assert isinstance(attacker.release(moved(GRID)), BudgetExceededError)
    assert attacker.most == 1


def test_a_load_under_a_new_key_stays_in_its_group(attacker):
    assert attacker.release(GRID) is None
    attacker.ledger.set_group("case14_ieee", "smelter", ["bus 13", "bus 14"])
    attacker.ledger.set_cap("2", "case14_ieee", group="smelter")
    refusal = attacker.release(moved(GRID).with_loads(0.0, 12))
    assert "the group 'smelter'" in str(refusal)
    assert attacker.most == 1


def test_an_id_stands_for_the_same_release_in_whatever_order_rows_are(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    drawn = ledger.spend("r", asked(GRID.owner()), lambda: draw(range(11)))
    other = GRID.reordered(1)
    again = ledger.spend("r", asked(other.owner()), lambda: pytest.fail("drawn again"))
    assert sorted(drawn.tolist()) == sorted(again.tolist())
    assert dict(zip(GRID.loads(), drawn.tolist(), strict=True)) == dict(
        zip(other.loads(), again.tolist(), strict=True)
    )


def test_loads_with_the_same_name_are_refused():
    with pytest.raises(GridveilError, match="2 loads are called 'load 0'"):
        owner(keys=[("load 0",), ("load 0",), ("a",), ("b",), ("c",)])


def spent_of(ledger):
    return {account.key: account.spent for account in ledger.accounts()}


def test_a_new_load_inherits_the_most_that_any_which_is_gone_has_spent(attacker):
    """It may be that load under another number, among other branches."""
    attacker.release(GRID)
    attacker.release(GRID.with_loads(0.0, 4))  # bus 5
    moved = GRID.with_loads(0.0, 13, 4).with_loads(9.0, 6)  # buses 14 and 5 are gone, 7 has come
    attacker.release(moved)
    spent = spent_of(attacker.ledger)
    assert (spent["bus 5"], spent["bus 14"], spent["bus 7"]) == (1, 2, 2 + 1)


def test_a_load_that_its_owner_says_is_new_inherits_nothing(attacker):
    attacker.release(GRID)
    attacker.ledger.add_loads("case14_ieee", ["bus 7"], "a new customer")
    attacker.release(GRID.with_loads(0.0, 13).with_loads(9.0, 6))
    assert spent_of(attacker.ledger)["bus 7"] == 1
    assert attacker.ledger.history()[-1].kind == "release"
    assert "a new customer" in [row.content.get("reason") for row in attacker.ledger.history()]


def test_a_changed_bus_keeps_its_account_and_so_its_own_cap(attacker):
    """All of its branches get other impedances, in a network that is clearly the same."""
    attacker.release(GRID)
    attacker.ledger.set_cap("1.5", "case14_ieee", ["bus 14"], reason="the owner's wish")
    branch = GRID.branch.copy()
    at_bus = (branch[:, :2] == 14).any(axis=1)
    branch[at_bus, 2:5] *= 1.7
    refusal = attacker.release(replace(GRID, branch=branch))
    assert isinstance(refusal, BudgetExceededError)
    assert "bus 14" in str(refusal)


def test_a_cap_of_a_load_follows_it_to_another_number(attacker):
    attacker.release(GRID)
    attacker.ledger.set_cap("1.5", "case14_ieee", ["bus 14"], reason="the owner's wish")
    renumbered = GRID.renumbered([*range(1, 14), 77])
    refusal = attacker.release(renumbered)
    assert isinstance(refusal, BudgetExceededError)
    assert "bus 77" in str(refusal)
    assert attacker.release(renumbered, "0.5") is None
    assert attacker.ledger.inspect().ok


def test_a_load_whose_number_is_taken_by_another_moves_out_of_its_way(attacker):
    """Bus 14 gets the number 3, under which another load was known, and that one another."""
    attacker.release(GRID)
    numbers = {14: 3, 3: 90}
    moved = GRID.renumbered([numbers.get(int(n), int(n)) for n in GRID.bus[:, 0]])
    assert attacker.release(moved) is None
    without = moved.with_loads(0.0, 2)
    assert attacker.release(without) is None
    assert spent_of(attacker.ledger)["bus 90"] == 2
    assert spent_of(attacker.ledger)["bus 3"] == 3
    assert attacker.ledger.inspect().ok


def test_what_may_be_another_account_counts_in_every_window_of_hours(tmp_path):
    """A load may be one that was released today, or one that was released days ago."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    places = [frozenset({"a", "b", "x"}), frozenset({"c", "d", "y"})]
    both = owner([1, 2], branches=places)
    ledger.open_register(both)
    ledger.set_cap(3, "a network", hours=24)

    def spend(name, hour, epsilon, bus, around, register=None):
        loads = replace(
            both, buses=[bus], keys=[(f"bus {bus}",)], surroundings=[around], register=register
        )
        hours = Hours(hour, (Fraction(epsilon),))
        ledger.spend(name, spending(of=loads, epsilon=epsilon, hours=hours), lambda: draw([bus]))

    spend("r1", 0, "1", 1, places[0])
    spend("r2", 100, "1", 2, places[1])
    halves, same = frozenset({"a", "b", "c", "d"}), RegisterChoice("a network", is_new=False)
    for hour in (0, 100):
        with pytest.raises(BudgetExceededError):
            spend("r3", hour, "2.5", 3, halves, same)
    spend("r3", 100, "2", 3, halves, same)
    assert ledger.inspect().ok


def test_inheriting_again_and_again_adds_nothing(attacker):
    attacker.release(GRID)
    moved = GRID.scaled(1.3).permuted(3, 500)
    attacker.release(moved, register="case14_ieee")
    before = max(spent_of(attacker.ledger).values())
    for i, grid in enumerate([GRID, moved, GRID.opened(0), moved.opened(1), GRID, moved]):
        attacker.ledger.open_register(grid.owner(RegisterChoice("case14_ieee", is_new=False)))
        assert max(spent_of(attacker.ledger).values()) == before, i
    assert before == 2


def test_loads_that_cannot_be_told_apart_are_charged_as_the_one_that_has_spent_most(attacker):
    """In a ring of equal lines all loads stand among the same branches."""
    numbers = np.arange(1.0, 11)
    ring = replace(
        GRID,
        bus=GRID.bus[[2] * 10].copy(),
        branch=GRID.branch[[0] * 10].copy(),
        who=tuple(f"ring {i}" for i in range(10)),
    )
    ring.bus[:, 0] = numbers
    ring.branch[:, 0], ring.branch[:, 1] = numbers, np.roll(numbers, -1)
    assert attacker.release(ring) is None
    assert attacker.release(ring.with_loads(0.0, *range(1, 10)), "2") is None  # the first alone
    assert isinstance(
        attacker.release(ring.permuted(1)), RegisterUnclearError | BudgetExceededError
    )
    for seed in range(6):
        other = ring.permuted(seed, 700)
        attacker.press(other.with_loads(0.0, *range(1, 10)))
        attacker.press(other)
    assert attacker.most == 3


# Networks of pandapower, whose loads are known by their indices


def pandapower_net(name="case9"):
    networks = pytest.importorskip("pandapower.networks", reason="pandapower is an extra")
    import pandapower

    net = getattr(networks, name)()
    if net.poly_cost.empty:
        for index in net.ext_grid.index:
            pandapower.create_poly_cost(net, index, "ext_grid", 1.0)
    return net


def read(net):
    """Return the network of a net, and who stands behind its loads, by the names these have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = network_from_net(net, str(net.name or "net"))
    names = net.load.name[net.load.in_service]
    return network, [name for of in names for name in of.split("+")]


def feeder():
    """Return a net with a bus coupler and two loads at each of three buses."""
    pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")
    net = pandapower.create_empty_network(name="feeder", sn_mva=100)
    at = pandapower.create_buses(net, 7, 110.0, min_vm_pu=0.9, max_vm_pu=1.1)
    for i, (one, other) in enumerate(itertools.pairwise(at[:6])):
        pandapower.create_line_from_parameters(
            net, one, other, 1.0 + i, 0.01, 0.1, 1.0, 1000.0, max_loading_percent=100
        )
    pandapower.create_line_from_parameters(
        net, at[0], at[6], 9.0, 0.02, 0.1, 1.0, 1000.0, max_loading_percent=100
    )
    pandapower.create_switch(net, at[5], at[6], et="b", closed=True)
    pandapower.create_switch(net, at[2], 2, et="l", closed=True)
    pandapower.create_ext_grid(net, 0, min_p_mw=-1e3, max_p_mw=1e3, min_q_mvar=-1e3, max_q_mvar=1e3)
    pandapower.create_poly_cost(net, 0, "ext_grid", 1.0)
    for bus in (2, 4, 6):
        for _ in range(2):
            pandapower.create_load(net, bus, 5.0, 1.0)
    net.load["name"] = [f"load {i}" for i in net.load.index]
    return net


def with_open(net, *switches):
    net.switch.loc[list(switches), "closed"] = False
    return net


def out_of_service(net, *loads):
    net.load.loc[list(loads), "in_service"] = False
    return net


def reindexed(net, seed=1):
    """Give its buses other indices, in another order."""
    import pandapower.toolbox

    new = np.random.default_rng(seed).permutation(len(net.bus)) + 40
    pandapower.toolbox.reindex_buses(
        net, dict(zip(net.bus.index.tolist(), new.tolist(), strict=True))
    )
    net.bus = net.bus.sort_index()
    return net


def reordered(net):
    net.load = net.load.iloc[::-1]
    net.line = net.line.iloc[::-1]
    return net


def without_line(net):
    net.line.loc[net.line.index[-1], "in_service"] = False
    return net


SWITCHED = {
    "an open bus coupler": lambda net: with_open(net, 0),
    "an open line": lambda net: with_open(net, 1),
    "buses with other indices": reindexed,
    "rows in another order": reordered,
    "a line out of service": without_line,
    "loads out of service": lambda net: out_of_service(net, 0, 3),
}


@pytest.mark.parametrize("name", SWITCHED)
def test_switching_and_sorting_a_pandapower_net_charges_the_same_accounts(attacker, name):
    """Opening a bus coupler numbers all buses anew in between."""
    assert attacker.release_network(*read(feeder())) is None
    assert attacker.release_network(*read(SWITCHED[name](feeder()))) is None
    assert attacker.release_network(*read(feeder())) is None
    spent = spent_of(attacker.ledger)
    assert spent == dict(attacker.told)
    assert {account.register for account in attacker.ledger.accounts()} == {"feeder"}
    assert attacker.ledger.inspect().ok


@pytest.mark.parametrize("name", ["case9", "create_cigre_network_mv"])
def test_no_switching_of_a_pandapower_net_brings_a_second_budget(attacker, name):
    changes = [lambda net: net, reindexed, reordered, without_line]
    for change in changes:
        net = pandapower_net(name)
        net.load["name"] = [f"load {i}" for i in net.load.index]
        change(net)
        if len(net.switch):
            net.switch["closed"] = [bool(i % 2) or bool(c) for i, c in enumerate(net.switch.closed)]
        attacker.press_network(*read(net))
    assert attacker.most == 3
    assert len({account.register for account in attacker.ledger.accounts()}) == 1


def merged_loads(net):
    """Replace the loads 0 and 1, at one bus, by one: load 0."""
    net.load.loc[0, ["p_mw", "q_mvar"]] += net.load.loc[1, ["p_mw", "q_mvar"]]
    net.load.loc[0, "name"] = "load 0+load 1"
    net.load = net.load.drop(index=1)
    return net


def test_a_load_that_was_part_of_another_one_meanwhile_has_spent_what_that_one_has(attacker):
    assert attacker.release_network(*read(feeder())) is None
    assert attacker.release_network(*read(merged_loads(feeder())), "2") is None
    attacker.press_network(*read(out_of_service(feeder(), 0, 2, 3, 4, 5)))
    assert attacker.most == 3


def test_a_load_that_is_split_leaves_what_was_spent_to_both_parts(attacker):
    assert attacker.release_network(*read(merged_loads(feeder())), "3") is None
    attacker.press_network(*read(out_of_service(feeder(), 0)))
    attacker.press_network(*read(feeder()))
    assert attacker.most == 3


def test_loads_go_to_a_case_file_and_back_with_what_they_have_spent(attacker):
    grid = Grid.of("case30_as")
    assert attacker.release(grid) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = net_from_network(grid.network())
    numbers = [int(bus) + 1 for bus in net.load.bus]
    net.load["name"] = [f"case30_as {grid.network().buses.number[n - 1]}" for n in numbers]
    refusal = attacker.release_network(*read(net))
    assert isinstance(refusal, RegisterUnclearError), "keys and numbers are others"
    assert attacker.release_network(*read(net), register="case30_as") is None
    assert attacker.most == 2
    back = replace(grid, name="back")
    assert isinstance(attacker.release(back), RegisterUnclearError)
    attacker.press(back)
    attacker.press_network(*read(net))
    assert attacker.most == 3
    assert {account.register for account in attacker.ledger.accounts()} == {"case30_as"}


# Files and parties


def test_opening_a_transformer_in_a_file_charges_the_same_loads(tmp_path):
    """Finding 4: the ledger knew a network by its buses in service."""
    text = load_case("case14_ieee").case.text
    line = next(one for one in text.splitlines() if re.match(r"\s*4\s+7\s", one))  # a transformer
    cells = line.split()
    opened = "\t".join([*cells[:10], "0", *cells[11:]])
    radial = text.replace(line, opened)
    paths = []
    for name, content in (("closed.m", text), ("open.m", radial)):
        (tmp_path / name).write_text(content)
        paths.append(tmp_path / name)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    privatise(load_case(paths[0]), PolarLaplace.of(3, 0.1), ledger, "one")
    with pytest.raises(BudgetExceededError):
        privatise(load_case(paths[1]), PolarLaplace.of(3, 0.1), ledger, "two")
    assert {account.spent for account in ledger.accounts()} == {3}


def slices_of(network, parties, seed_costs=1.0):
    costs = np.full(len(network.generators), seed_costs)
    return split(network, partition(network, parties), PublicCosts.published(costs, "a report"))


def spend_part(ledger, part, name, epsilon="1"):
    owned = party_owner(part)
    ledger.spend(name, asked(owned, epsilon), lambda: np.zeros((len(part.loads), 2), int))


def test_all_parties_of_a_network_share_a_register(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    network = load_case("case39_epri")
    for i, part in enumerate(slices_of(network, 4)):
        spend_part(ledger, part, f"r{i}", "2")
    assert set(spent_of(ledger).values()) == {2}
    assert len(ledger.accounts()) == len(network.loads)
    with pytest.raises(BudgetExceededError):
        ledger.check(asked(owner_of(network), "2"))
    for i, part in enumerate(slices_of(network, 3)):  # shared out in another way
        with pytest.raises(BudgetExceededError):
            spend_part(ledger, part, f"s{i}", "2")


def test_parties_spend_what_the_whole_network_has_left(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    network = load_case("case39_epri")
    ledger.spend("whole", asked(owner_of(network), "2"), lambda: np.zeros((21, 2), int))
    for i, part in enumerate(slices_of(network, 3)):
        with pytest.raises(BudgetExceededError):
            spend_part(ledger, part, f"r{i}", "2")
        spend_part(ledger, part, f"s{i}", "1")
    assert set(spent_of(ledger).values()) == {3}


def test_a_party_of_a_network_numbered_anew_gets_no_second_budget(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    grid = Grid.of("case39_epri")
    for i, part in enumerate(slices_of(grid.network(), 3)):
        spend_part(ledger, part, f"r{i}", "3")
    for i, other in enumerate((grid.permuted(1), grid.permuted(2, 500), grid.opened(0, 5))):
        for j, part in enumerate(slices_of(other.network(), 3)):
            with pytest.raises((BudgetExceededError, RegisterUnclearError)):
                spend_part(ledger, part, f"s{i}{j}", "1")


def test_a_party_whose_impedances_were_corrected_gets_no_second_budget(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    grid = Grid.of("case39_epri")
    for i, part in enumerate(slices_of(grid.network(), 3)):
        spend_part(ledger, part, f"r{i}", "3")
    for j, part in enumerate(slices_of(grid.scaled(1.001).network(), 3)):
        with pytest.raises(RegisterUnclearError):
            spend_part(ledger, part, f"s{j}", "1")


def test_a_party_refuses_a_distance_that_cannot_be_meant(tmp_path):
    part = slices_of(load_case("case39_epri"), 3)[0]
    for alpha in ("0.000001", "1000"):
        settings = RUN.model_copy(update={"alpha": alpha, "parties": (part.party,)})
        with pytest.raises(GridveilError, match="Nothing was drawn"):
            draw_noisy_loads(part, settings, run_mechanism(settings), tmp_path / "ledger.sqlite")
    assert Ledger(tmp_path / "ledger.sqlite").is_empty


def test_a_party_says_which_register_it_means(tmp_path):
    place = tmp_path / "ledger.sqlite"
    part = slices_of(load_case("case39_epri"), 1)[0]
    ledger = Ledger(place)
    for i, choice in enumerate((None, RegisterChoice("copies", is_new=True))):
        spending_of = asked(party_owner(part, choice))
        ledger.spend(f"r{i}", spending_of, lambda: np.zeros((21, 2), int))
    settings = RUN.model_copy(update={"parties": (part.party,)})
    with pytest.raises(RegisterUnclearError):
        draw_noisy_loads(part, settings, run_mechanism(settings), place)
    choice = RegisterChoice("copies", is_new=False)
    draw_noisy_loads(part, settings, run_mechanism(settings), place, choice)
    assert {a.spent for a in ledger.accounts("copies")} == {2}


def test_parties_of_unrelated_networks_do_not_meet(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for name in ("case14_ieee", "case39_epri"):
        for i, part in enumerate(slices_of(load_case(name), 2)):
            spend_part(ledger, part, f"{name} {i}", "3")
    assert len({account.register for account in ledger.accounts()}) == 2
