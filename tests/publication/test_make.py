"""Releases: what they hold, what they never hold, and what they do not depend on."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from gridveil import (
    AgentOptions,
    Ledger,
    PolarLaplace,
    ProductLaplace,
    load_case,
    release,
    save_case,
    solve_acopf,
    verify,
)
from gridveil.errors import GridveilError
from gridveil.network.formats.matpower_parser import read_matpower
from gridveil.publication.case_file import blank
from gridveil.publication.costs import Provenance, PublicCosts
from gridveil.publication.report.private_page import private_page
from tests.cases import TINY, bus

MECHANISM = PolarLaplace.of(1, 0.1)
DERIVED = {"costs": "derived", "declare_public": "costs"}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.mark.parametrize("method", ["central", "bilevel", "admm"])
@pytest.mark.parametrize("name", ["case14_ieee", "case39_epri"])
def test_a_release_keeps_its_promises_and_verifies(ledger, tmp_path, name, method):
    agents = AgentOptions(polish=True) if method == "admm" else None
    made = release(
        load_case(name),
        ledger,
        mechanism=MECHANISM,
        beta=0.01,
        release_id="one",
        method=method,
        agents=agents,
    )
    made.save(tmp_path / "out")
    wanted = {"certificate.json", "loads.csv", "network.m", "positions.csv", "report.html"}
    wanted |= {"history.csv"} if method == "admm" else set()
    assert {p.name for p in (tmp_path / "out").iterdir()} == wanted
    result = verify(tmp_path / "out")
    assert result.ok, [claim for claim in result.claims if not claim.ok]
    told = made.certificate.fidelity
    assert told.max_violation <= 1e-6
    if method == "bilevel":
        assert abs(told.cost_gap_optimal) <= 0.01
    else:
        assert told.worst_generator_gap <= 0.01 + 1e-6


def test_only_loads_and_the_solution_differ_from_the_source(ledger, tmp_path):
    network = load_case("case39_epri")
    made = release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one")
    made.save(tmp_path / "out")
    source, released = network.case, read_matpower(tmp_path / "out" / "network.m")
    changed = {"bus": {"Pd", "Qd", "Vm", "Va"}, "gen": {"Pg", "Qg", "Vg"}, "branch": set()}
    for table, columns in changed.items():
        for column in source.tables[table].columns:
            same = np.array_equal(
                source.tables[table].column(column), released.tables[table].column(column)
            )
            assert same != (column in columns), (table, column)
    assert np.array_equal(source.tables["gencost"].values, released.tables["gencost"].values)


PLANTED = TINY.with_(
    bus=[
        bus(1, 3),
        bus(2, 1, 81.23456789, 21.98765432),
        bus(7, 2, 51.31313131, 11.71717171),
        [9, 4, 0, 0, 0, 0, 1, 1.0123456, -7.654321, 230, 1, 1.1, 0.9],
    ]
)
"""Loads of many digits, and a solution left in the file."""


def test_no_byte_holds_a_raw_load(ledger, tmp_path, monkeypatch, capfd):
    """Recognisable loads are planted; every byte written and printed is searched for them."""
    source = tmp_path / "in" / "tiny.m"
    source.parent.mkdir()
    source.write_text(PLANTED.text())
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("TMPDIR", str(work))
    network = load_case(source)
    made = release(
        network,
        Ledger(work / "ledger.sqlite"),
        mechanism=MECHANISM,
        beta=0.05,
        release_id="one",
        notify=print,
    )
    made.save(work / "out")
    print(made, network, made.restored, verify(work / "out"))
    with pytest.raises(GridveilError) as refused:
        release(
            network,
            Ledger(work / "ledger.sqlite"),
            mechanism=MECHANISM,
            beta=1e-9,
            release_id="one",
            method="admm",
            agents=AgentOptions(tolerance=1e-2, polish=False),
        )
    printed = "".join(capfd.readouterr()) + str(refused.value)
    written = b"".join(p.read_bytes() for p in work.rglob("*") if p.is_file())
    raw = [81.23456789, 21.98765432, 51.31313131, 11.71717171]
    digits = [f"{value / scale:.12f}"[:9] for value in raw for scale in (1, 100)]
    digits += ["1.0123456", "-7.654321"]
    for text in digits:
        assert text not in printed
        assert text.encode() not in written
    for value in raw:
        for number in (value, value / 100):
            for order in "<>":
                assert np.array(number, dtype=f"{order}f8").tobytes() not in written


def public_costs(network):
    costs = solve_acopf(network).generator_costs
    return PublicCosts(costs, Provenance.PUBLISHED, "annual report, page 3")


@pytest.mark.parametrize("method", ["central", "bilevel", "admm"])
def test_after_the_noise_is_drawn_the_loads_do_not_matter(ledger, method):
    """Other raw loads under the same release id: every byte is the same."""
    network = load_case("case14_ieee")
    costs = public_costs(network)
    agents = AgentOptions(polish=True) if method == "admm" else None
    for choices in ({"costs": costs}, {}):
        options = {
            "method": method,
            "agents": agents,
            "release_id": f"costs given: {'costs' in choices}",
            **choices,
        }
        one = release(network, ledger, mechanism=MECHANISM, beta=0.01, **options)
        swapped = network.with_loads(network.loads.p[::-1] * 2, network.loads.q[::-1] - 0.3)
        other = release(swapped, ledger, mechanism=MECHANISM, beta=0.01, **options)
        assert one.files == other.files


ALIGNED = {
    "wide": ("   81.2345678", "     21.98765", "  1.0123456", "   -7.654321"),
    "narrow": ("            5", "            0", "          1", "           0"),
    "left": ("5            ", "-1e1         ", "1.02       ", "3           "),
}


def aligned(tmp_path, name):
    """A file whose columns are aligned with blanks, as many are."""
    p, q, v, angle = ALIGNED[name]
    text = TINY.text().replace(
        "\t2\t1\t80.0\t20.0\t0.0\t0.0\t1\t1.0\t0.0\t",
        f"  2  1 {p} {q}  0.0  0.0  1 {v} {angle}  ",
    )
    assert p in text
    path = tmp_path / name / "tiny.m"
    path.parent.mkdir()
    path.write_text(text)
    return load_case(path)


def test_not_even_the_width_of_a_number_remains(tmp_path, ledger):
    """Other loads in the file itself, of other lengths and signs: every byte is the same."""
    networks = [aligned(tmp_path, name) for name in ALIGNED]
    texts = {blank(network).case.text for network in networks}
    assert len(texts) == 1
    costs = PublicCosts(np.array([1000.0, 900.0]), Provenance.PUBLISHED, "annual report")
    made = [
        release(n, ledger, mechanism=MECHANISM, beta=1.0, release_id="one", costs=costs).files
        for n in networks
    ]
    assert made[0] == made[1] == made[2]


def test_a_load_of_an_isolated_bus_is_never_published(ledger, tmp_path):
    """Whatever it is, every byte is the same, and its row in the file holds zeros."""
    costs = PublicCosts(np.array([1000.0, 900.0]), Provenance.PUBLISHED, "annual report")
    files = []
    for p, q in ((33.75, 12.25), (0.0, 0.0), (-1e6, 3.0)):
        case = TINY.with_(bus=[*TINY.bus, bus(9, 4, p, q)])
        made = release(case.network(), ledger, beta=1.0, release_id="one", costs=costs)
        files.append(made.files)
    assert files[0] == files[1] == files[2]
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    published = read_matpower(tmp_path / "out" / "network.m").tables["bus"]
    assert published.values[3, :4].tolist() == [9.0, 4.0, 0.0, 0.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("base", "alpha", "mw"),
    [(100.0, "0.1", 1e300), (0.01, "1000", 1e307), (100.0, "0.1", -1.7e308)],
)
def test_a_huge_load_is_released_like_any_other(ledger, base, alpha, mw):
    """In p.u. it may be beyond all numbers; no message, warning or failure tells it."""
    case = TINY.with_(base_mva=base).with_cell("bus", 1, 2, mw).with_cell("bus", 1, 3, -mw)
    made = first_that_is_found(case.network(), ledger, alpha)
    assert np.isfinite(made.published.network.loads.values).all()
    assert private_page(case.network(), made.noisy, made.published.network, made.certificate)


def first_that_is_found(network, ledger, alpha):
    """Release a network; at a base of 0.01 MVA one draw in ten has no solution, for any load."""
    ledger.set_cap(100)
    for i in range(5):
        with contextlib.suppress(GridveilError):
            return release(network, ledger, alpha=alpha, beta=0.5, release_id=f"draw {i}")
    return release(network, ledger, alpha=alpha, beta=0.5, release_id="the last")


def test_new_loads_under_an_old_id_are_refused_where_costs_are_derived(ledger):
    """Their costs would be told again and again, unprotected, for one charge."""
    network = load_case("case14_ieee")
    options = {"mechanism": MECHANISM, "beta": 0.01, "release_id": "one", **DERIVED}
    release(network, ledger, **options)
    changed = network.with_loads(network.loads.p * 1.1, network.loads.q)
    with pytest.raises(GridveilError, match="other parameters"):
        release(changed, ledger, **options)


def test_foreseeable_mistakes_cost_nothing(ledger):
    network = load_case("case14_ieee")
    for options in (
        {"beta": -1.0},
        {"beta": 0.01, "method": "admm", "band": "total"},
        {"beta": 0.01, "method": "central", "agents": AgentOptions()},
    ):
        beta = options.pop("beta")
        with pytest.raises(GridveilError):
            release(
                network,
                ledger,
                mechanism=MECHANISM,
                beta=beta,
                release_id="one",
                cost_budget="0.1",
                **options,
            )
    with pytest.raises(GridveilError, match="kept for totals"):
        release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="x (total)")
    assert ledger.accounts() == []


def test_a_blank_network_has_forgotten_its_loads():
    network = PLANTED.network()
    other = PLANTED.with_cell("bus", 1, 2, 5.0).with_cell("bus", 3, 7, 1.05)
    assert blank(network).case.text == blank(other.network()).case.text
    assert not blank(network).loads.values.any()
    assert blank(network).load_buses == network.load_buses


def test_a_solved_files_extra_columns_are_cleared(tmp_path):
    """Flows and multipliers that MATPOWER writes behind the input columns give loads away."""
    text = TINY.text()
    rows = [f"{line[:-1]}\t123.456\t-77.7;" if line.startswith("\t1\t2\t") or
            line.startswith("\t2\t7\t") or line.startswith("\t1\t7\t") else line
            for line in text.splitlines()]  # fmt: skip
    path = tmp_path / "solved.m"
    path.write_text("\n".join(rows))
    assert "123.456" in path.read_text()
    assert "123.456" not in blank(load_case(path)).case.text


def test_the_same_id_gives_the_same_bytes_and_charges_once(ledger):
    network = load_case("case14_ieee")
    one = release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one")
    assert (
        release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one").files
        == one.files
    )
    assert {account.spent for account in ledger.accounts()} == {1}
    assert one.certificate.protection.cumulative_epsilon == 1.0
    second = release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="two")
    assert second.certificate.protection.cumulative_epsilon == 2.0
    # The first certificate still says what was spent when it was made.
    assert (
        release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one").files
        == one.files
    )


def test_where_costs_come_from_is_declared(ledger):
    network = load_case("case14_ieee")
    private = release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one").certificate
    assert private.costs.provenance == "private"
    assert private.private_as_a_whole
    assert private.statement.startswith("Private as a whole")
    derived = release(
        network, ledger, mechanism=MECHANISM, beta=0.01, release_id="three", **DERIVED
    ).certificate
    assert derived.costs.provenance == "derived"
    assert not derived.private_as_a_whole
    assert "The owner declares the costs O* public" in derived.statement
    assert "not protected" in derived.invariants[2].provenance
    assert derived.costs.true_cost is None
    given = release(
        network,
        ledger,
        mechanism=MECHANISM,
        beta=0.01,
        release_id="two",
        costs=public_costs(network),
    )
    assert given.certificate.costs.provenance == "published"
    assert "annual report, page 3" in given.certificate.invariants[2].provenance


def test_a_release_that_breaks_limits_is_refused_and_can_be_tried_again(ledger):
    network = load_case("case57_ieee")
    loose = AgentOptions(tolerance=1e-2, polish=False)
    with pytest.raises(GridveilError, match="a central solver can take the last step"):
        release(
            network,
            ledger,
            mechanism=MECHANISM,
            beta=0.01,
            release_id="one",
            method="admm",
            agents=loose,
        )
    for method in ("central", "admm"):  # agents alone do not keep limits as a release must
        release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one", method=method)
    assert {account.spent for account in ledger.accounts()} == {1}


def test_an_unsound_mechanism_is_refused(ledger):
    from gridveil import Piecewise, PublicBounds

    bounds = PublicBounds(np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]]), "ratings")
    unsound = Piecewise.of(1, 0.1, bounds, "paper")
    with pytest.raises(GridveilError, match="refused for a release"):
        release(load_case("case14_ieee"), ledger, mechanism=unsound, beta=0.01, release_id="one")


def test_another_release_never_overwrites(ledger, tmp_path):
    made = release(
        load_case("case14_ieee"), ledger, mechanism=MECHANISM, beta=0.01, release_id="one"
    )
    (tmp_path / "out").mkdir()
    with pytest.raises(GridveilError, match="not overwritten"):
        made.save(tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(GridveilError, match="not overwritten"):
        made.save(tmp_path / "file")
    with pytest.raises(GridveilError, match="cannot write"):
        made.save(tmp_path / "file" / "out")


def test_declared_loads_of_zero_are_released_too(ledger, tmp_path):
    network = load_case("case14_ieee", load_buses=range(1, 15))
    made = release(
        network, ledger, mechanism=ProductLaplace.of(1, 0.1), beta=0.05, release_id="one"
    )
    made.save(tmp_path / "out")
    assert len(made.certificate.load_buses) == 14
    assert verify(tmp_path / "out").ok
    rows = (tmp_path / "out" / "loads.csv").read_text().splitlines()
    assert len(rows) == 15


def test_a_released_network_can_be_loaded_and_saved_like_any_other(ledger, tmp_path):
    release(
        load_case("case14_ieee"), ledger, mechanism=MECHANISM, beta=0.01, release_id="one"
    ).save(tmp_path / "out")
    network = load_case(tmp_path / "out" / "network.m")
    save_case(network, tmp_path / "again.m")
    assert (tmp_path / "again.m").read_bytes() == (tmp_path / "out" / "network.m").read_bytes()


def test_the_certificate_has_no_seed_and_no_other_figures(ledger):
    made = release(
        load_case("case14_ieee"), ledger, mechanism=MECHANISM, beta=0.01, release_id="one"
    )
    text = json.dumps(made.certificate.model_dump(mode="json"))
    assert not re.search("seed|displacement|noisy", text)


def test_the_schema_file_is_that_of_the_certificate():
    from gridveil.publication.certificate import schema

    path = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
    assert path.read_text(encoding="utf-8") == schema()


def test_costs_can_be_bought(ledger, tmp_path):
    """Then nothing but private numbers goes in: other raw loads give the same bytes."""
    network = load_case("case39_epri")
    one = release(
        network, ledger, epsilon=1, alpha=0.1, beta=0.01, release_id="one", cost_budget="0.2"
    )
    one.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    told = one.certificate
    assert told.costs.provenance == "private"
    assert told.protection.epsilon == pytest.approx(1.0)
    assert told.protection.epsilon_costs == pytest.approx(0.2)
    assert told.protection.cumulative_epsilon == pytest.approx(1.0)
    assert {float(account.spent) for account in ledger.accounts()} == {1.0}
    true = solve_acopf(network).cost
    assert told.fidelity.cost_target == pytest.approx(true, rel=0.2)
    assert told.fidelity.cost_target != pytest.approx(true, rel=1e-6)
    swapped = network.with_loads(network.loads.p[::-1] * 2, network.loads.q[::-1] - 0.3)
    assert (
        release(
            swapped, ledger, epsilon=1, alpha=0.1, beta=0.01, release_id="one", cost_budget="0.2"
        ).files
        == one.files
    )


def test_a_total_that_cannot_be_paid_for_draws_nothing(ledger):
    network = load_case("case14_ieee")
    with pytest.raises(GridveilError, match="over budget"):
        release(
            network,
            ledger,
            epsilon="3.1",
            hide="10MVA",
            beta=0.01,
            release_id="one",
            cost_budget="0.6",
        )
    with pytest.raises(GridveilError, match="only private costs or a private dispatch use a part"):
        release(
            network,
            ledger,
            mechanism=MECHANISM,
            beta=0.01,
            release_id="one",
            costs=public_costs(network),
            cost_budget="0.1",
        )
    with pytest.raises(GridveilError, match="must be 0 or more"):
        release(network, ledger, mechanism=MECHANISM, beta=0.01, release_id="one", cost_budget=-1)
    assert ledger.accounts() == []


@pytest.mark.parametrize("base", [1e-4, 1e6])
def test_a_base_that_could_not_be_certified_is_refused_before_anything_is_charged(ledger, base):
    with pytest.raises(GridveilError, match=r"base of .* could not be certified"):
        release(TINY.with_(base_mva=base).network(), ledger, mechanism=MECHANISM)
    assert ledger.accounts() == []
