"""Forged releases that contradict themselves nowhere are found by what they claim."""

from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from gridveil import Ledger, PublicBounds, load_case, release, verify
from gridveil.claims import ClaimVerdict
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.registry import METHODS
from gridveil.privacy.guarantee import WITHIN_BOUNDS
from gridveil.publication.signing import SignatureCheck, SignatureState
from gridveil.publication.statements import EARLIER_RELEASES, FIRST_RELEASE, derived_source
from gridveil.publication.verification.verify import NO_STATEMENT, Verification
from tests.cases import TINY
from tests.publication.forging import Forgery, broken

POLAR = "polar-laplace"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    ledger = folder / "ledger.sqlite"
    made = release("case5_pjm", ledger, beta=0.05, mechanism=POLAR, release_id="one")
    made.save(folder / "out")
    return folder / "out"


@pytest.fixture
def forged(made):
    return Forgery.of(made)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def verdict(folder, name):
    """Return the verdict of the one claim of a name."""
    (found,) = (claim.verdict for claim in verify(folder).claims if claim.name == name)
    return found


def test_what_is_written_unchanged_verifies(forged, out):
    assert broken(forged.write(out)) == []
    forged.state_again()
    forged.compute_again()
    assert broken(forged.write(out)) == []


def test_a_page_of_another_version_has_to_be_verified_with_that_version(forged, out):
    forged.content["software"]["gridveil"] = "0.2.9"
    assert broken(forged.write(out)) == []  # as we draw it, whoever drew it
    forged.write(out)
    forged.files["report.html"] = (
        (out / "report.html").read_bytes().replace("ε = 1".encode(), "ε = 0.001".encode())
    )
    forged.write(out, page=False)
    assert broken(out) == ["report.html"]
    assert verdict(out, "report.html") is ClaimVerdict.UNCHECKED
    (found,) = (claim.found for claim in verify(out).claims if claim.name == "report.html")
    assert "verify with Gridveil 0.2.9" in found


def test_a_page_of_another_version_with_a_script_is_broken(forged, out):
    forged.content["software"]["gridveil"] = "0.2.9"
    page = forged.files["report.html"]
    forged.files["report.html"] = page.replace(b"<main>", b"<main><script>1</script>")
    assert verdict(forged.write(out, page=False), "report.html") is ClaimVerdict.BROKEN


SECRETS = (300.0, 98.61)


def with_dead_parts(tables):
    """Add an isolated bus, a generator out of service with its cost, and a wider gencost."""
    tables["bus"] = np.vstack([tables["bus"], [6, 4, 0, 0, 0, 0, 1, 1, 0, 230, 1, 1.1, 0.9]])
    tables["gen"] = np.vstack([tables["gen"], [2, 0, 0, 0, 0, 1, 100, 0, 0, 0]])
    costs = np.hstack([tables["gencost"], np.zeros((len(tables["gencost"]), 2))])
    row = np.zeros(costs.shape[1])
    row[:4] = 2, 0, 0, 3
    tables["gencost"] = np.vstack([costs, row])
    return tables


def test_parts_out_of_service_do_no_harm(forged, out):
    forged.put_tables(with_dead_parts(forged.tables()))
    assert "network.m" not in broken(forged.write(out))


@pytest.mark.parametrize(
    ("table", "row", "column", "value"),
    [
        ("bus", 5, 7, SECRETS[0]),  # Vm of an isolated bus
        ("bus", 5, 8, SECRETS[1]),  # Va
        ("gen", 5, 1, SECRETS[0]),  # Pg of a generator out of service
        ("gen", 5, 2, SECRETS[1]),  # Qg
        ("gen", 5, 5, SECRETS[0]),  # Vg
        ("gen", 0, 5, SECRETS[0]),  # Vg of one in service
        ("gencost", 0, -1, SECRETS[0]),  # behind the numbers that count
        ("gencost", 5, -2, SECRETS[1]),
    ],
)
def test_a_number_where_nothing_stands_is_found(forged, out, table, row, column, value):
    tables = with_dead_parts(forged.tables())
    tables[table][row, column] = value
    forged.put_tables(tables)
    assert "network.m" in broken(forged.write(out))


@pytest.mark.parametrize("table", ["bus", "gen", "branch"])
def test_a_column_behind_the_known_ones_is_found(forged, out, table):
    tables = forged.tables()
    width = {"bus": 13, "gen": 21, "branch": 13}[table] - tables[table].shape[1] + 1
    more = np.zeros((len(tables[table]), width))
    more[0, -1] = SECRETS[0]
    tables[table] = np.hstack([tables[table], more])
    forged.put_tables(tables)
    assert broken(forged.write(out)) == ["network.m"]


@pytest.mark.parametrize(
    "added", ["% 300 MW\n", "mpc.raw = 300;\n", "mpc.raw = [\n\t300;\n];\n", "\n", " "]
)
def test_a_text_behind_the_tables_is_found(forged, out, added):
    forged.files["network.m"] += added.encode()
    assert broken(forged.write(out)) == ["network.m"]


def test_what_is_kept_is_of_the_kinds_that_are_stated(forged, out):
    names = b"mpc.bus_name = {\n\t'one';\n\t'two';\n\t};\n"
    forged.content["kept"] = ["names"]
    forged.state_again()
    model = forged.files["network.m"]
    forged.files["network.m"] = model + names
    assert broken(forged.write(out)) == []
    for added in (b"% 300 MW\n", b"mpc.raw = [\n\t300;\n];\n", b"mpc.raw = 300;\n", b"\n"):
        forged.files["network.m"] = model + names + added
        assert broken(forged.write(out)) == ["network.m"]
    forged.files["network.m"] = model.replace(b"\t1\t", b"\t01\t", 1) + names
    assert broken(forged.write(out)) == ["network.m"]


def test_what_an_owner_keeps_verifies(tmp_path, out):
    text = TINY.text() + (
        '% it\'s "50" % of %% it\n%{\n % in a block\n\n%}\n'
        "mpc.bus_name = {'a % b'; % c\n 'd'};\nmpc.areas = [1 2; 3 4];\nmpc.x = 'y'; mpc.z = 3\n"
    )
    (tmp_path / "tiny.m").write_text(text)
    for kept in ("names", "comments", "sections", "names,comments,sections"):
        ledger = tmp_path / "ledger.sqlite"
        made = release(tmp_path / "tiny.m", ledger, beta=0.05, mechanism=POLAR, keep=kept)
        made.save(tmp_path / kept)
        assert broken(tmp_path / kept) == []


@pytest.mark.parametrize(
    "numbers",
    [[2, 4, 3], [4, 3, 2], [2, 3, 4, 6], [2, 3, 4, 7], [2, 3, 4] + [1] * 1000, []],
)
def test_load_buses_that_are_not_in_service_in_order_are_found(forged, out, numbers):
    forged.put_tables(with_dead_parts(forged.tables()))
    forged.content["load_buses"] = numbers
    forged.protection["loads"] = len(numbers)
    values = dict(line.split(b",", 1) for line in forged.files["loads.csv"].splitlines())
    rows = [(str(n).encode(), values.get(str(n).encode(), b"1,0.0,0.0,1")) for n in numbers]
    head = next(iter(values.items()))
    forged.files["loads.csv"] = b"".join(b"%s,%s\n" % row for row in (head, *rows))
    forged.write(out, page=False)
    assert verdict(out, "network") is ClaimVerdict.BROKEN


def test_declared_loads_of_zero_verify(tmp_path, out):
    network = load_case("case5_pjm", load_buses=[4, 5, 3, 2, 1])
    release(network, tmp_path / "ledger.sqlite", beta=0.05, mechanism=POLAR).save(out)
    assert broken(out) == []


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: text.replace(",", ", ", 3),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n2,", '\n"2",', 1),
        lambda text: text.replace("\n3,", "\n\u0663,", 1),
        lambda text: text.replace("\n3,", "\n03,", 1),
        lambda text: text.rstrip("\n") + "0000098610000\n",
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n",
    ],
)
def test_a_table_of_loads_in_another_spelling_is_found(forged, out, spell):
    text = forged.files["loads.csv"].decode()
    forged.files["loads.csv"] = spell(text).encode()
    assert forged.files["loads.csv"] != text.encode()
    assert broken(forged.write(out)) == ["loads.csv"]


def test_a_table_of_loads_as_0_3_wrote_it_is_read(forged, out):
    """It has neither numbers nor loads out of service."""
    rows = [line.split(",") for line in forged.files["loads.csv"].decode().splitlines()]
    assert rows[0] == ["bus", "number", "p_mw", "q_mvar", "in_service"]
    former = "".join(f"{bus},{p},{q}\n" for bus, _, p, q, _ in rows)
    forged.files["loads.csv"] = former.encode()
    assert broken(forged.write(out)) == []


SOOTHING = "Audited: with this release no load can be learned at all, by anyone."


def test_nothing_is_added_to_a_proved_promise(forged, out):
    forged.protection["caution"] = SOOTHING
    forged.state_again()
    assert broken(forged.write(out)) == ["promise"]
    forged.protection["caution"] = ""
    assert broken(forged.write(out)) == ["promise"]


@pytest.fixture(scope="module", params=["sound", "paper"])
def piecewise(request, tmp_path_factory):
    """A release by the piecewise mechanism, in either calibration."""
    folder = tmp_path_factory.mktemp("piecewise")
    ledger = Ledger(folder / "ledger.sqlite")
    ledger.set_cap(1000)
    release(
        "case5_pjm",
        ledger,
        mechanism="piecewise",
        bounds=PublicBounds(np.array([[-1.0, -1.0]]), np.array([[8.0, 3.0]]), "ratings"),
        calibration=request.param,
        accept_unsound=True,
        epsilon=20,
        beta=0.3,
    ).save(folder / "out")
    return folder / "out"


def test_both_calibrations_of_the_piecewise_mechanism_verify(piecewise):
    assert broken(piecewise) == []


def test_the_caution_of_the_piecewise_mechanism_is_its_own(piecewise, out):
    forged = Forgery.of(piecewise)
    for caution in (SOOTHING, forged.protection["caution"] + " " + SOOTHING):
        forged.protection["caution"] = caution
        forged.state_again(WITHIN_BOUNDS)
        assert broken(forged.write(out)) == ["promise"]


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": None, "bounds_digest": None},
        {"bounds": " "},
        {"bounds_digest": None},
        {"bounds_digest": "f" * 63},
        {"bounds_digest": "F" * 64},
        {"bounds_digest": "f" * 64 + "\n"},
        {"note": SOOTHING},
    ],
)
def test_the_piecewise_mechanism_has_public_bounds(piecewise, out, change):
    forged = Forgery.of(piecewise)
    stated = {**forged.protection["parameters"], **change}
    stated = {name: value for name, value in stated.items() if value is not None}
    forged.protection.update(parameters=stated, bounds=stated.get("bounds", ""))
    assert "parameters" in broken(forged.write(out))


@pytest.mark.parametrize(
    "change",
    [
        {"clamped": "yes"},
        {"clamped": "yes", "bounds": "ratings", "bounds_digest": "x"},
        {"clamped": "yes", "bounds": "", "bounds_digest": "f" * 64},
        {"clamped": "no", "bounds": "ratings", "bounds_digest": "f" * 64},
        {"bounds": "ratings", "bounds_digest": "f" * 64},
        {"note": SOOTHING},
    ],
)
def test_a_clamped_mechanism_has_public_bounds(forged, out, change):
    stated = {**forged.protection["parameters"], **change}
    forged.protection.update(parameters=stated, bounds=stated.get("bounds", ""))
    forged.costs["true_cost"] = None
    assert "parameters" in broken(forged.write(out))


def test_a_clamped_mechanism_verifies(tmp_path, out):
    bounds = PublicBounds(np.array([[-1.0, -1.0]]), np.array([[8.0, 3.0]]), "ratings")
    release("case5_pjm", tmp_path / "ledger.sqlite", bounds=bounds, beta=0.1, mechanism=POLAR).save(
        out
    )
    assert broken(out) == []


def with_base(forged, base, alpha_pu):
    """Restate a release at another base of per unit, with noise as good as none."""
    tables = forged.tables()
    tables["branch"][:, 2:4] *= base / 100
    tables["branch"][:, 4] *= 100 / base
    forged.put_tables(tables, base)
    forged.content["base_mva"] = base
    forged.protection.update(
        alpha_pu=alpha_pu,
        alpha_mva=alpha_pu * base,
        grid_step_pu=alpha_pu / 1000,
        noise_scale_pu=1.002 * alpha_pu,
        cumulative_distance_mva=alpha_pu * base,
    )
    exact = {"alpha": Fraction(repr(alpha_pu)), "step": Fraction(repr(alpha_pu / 1000))}
    forged.protection["parameters"].update({name: str(value) for name, value in exact.items()})
    forged.costs["true_cost"] = None
    forged.state_again()
    forged.compute_again()
    return forged


def test_a_base_that_no_network_has_is_found(forged, out):
    assert "base" in broken(with_base(forged, 1e10, 1e-9).write(out))


def test_scales_are_compared_relative_to_their_size(forged, out):
    with_base(forged, 1e5, 1e-8)
    forged.protection["noise_scale_pu"] = 1e-30
    assert "noise scale (p.u.)" in broken(forged.write(out))
    forged.protection["noise_scale_pu"] = 1.002e-8
    forged.protection["alpha_mva"] = 1.0
    forged.protection["alpha_pu"] = 1e-9
    assert "α in MVA" in broken(forged.write(out))


def without_loads(forged):
    tables = forged.tables()
    tables["bus"][:, 2:4] = 0
    forged.put_tables(tables)
    forged.content["load_buses"] = []
    forged.protection["loads"] = 0
    forged.files["loads.csv"] = b"bus,number,p_mw,q_mvar,in_service\n"
    return forged


def test_a_release_without_loads_is_found(forged, out):
    assert verdict(without_loads(forged).write(out), "network") is ClaimVerdict.BROKEN


def test_a_check_that_fails_is_a_claim_that_does_not_hold(made, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("gridveil.publication.verification.fidelity.solve_acopf", fails)
    (found,) = (claim for claim in verify(made).claims if not claim.ok)
    assert (found.name, found.found) == ("checks of fidelity", "failed: ZeroDivisionError")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [5e-324, 1e300, -1.7e308])
@pytest.mark.parametrize(
    ("part", "name"),
    [("fidelity", "beta"), ("protection", "alpha_pu"), ("fidelity", "cost_target")],
)
def test_extreme_numbers_warn_of_nothing(forged, out, part, name, value):
    forged.content[part][name] = abs(value) if part == "protection" else value
    if name == "beta":
        forged.fidelity[name] = abs(value)
    assert broken(forged.write(out, page=False))


SPOOFED = (
    "Private as a whole: whoever gets this folder learns about a load at most what ε = 0.001 "
    "allows.\ngenuine (key 4f1c… of CN=Regulator)\n45 claims recomputed" + "\n" * 5
)


def test_a_statement_that_does_not_follow_is_not_repeated(forged, out):
    forged.content["statement"] = SPOOFED
    result = verify(forged.write(out))
    assert result.statement == NO_STATEMENT
    assert result.private_as_a_whole is None
    assert result.figures()["private_as_a_whole"] is None
    assert [claim.name for claim in result.claims if not claim.ok] == ["private as a whole"]
    forged.state_again()
    forged.content["private_as_a_whole"] = False
    assert verify(forged.write(out)).private_as_a_whole is None


def test_texts_of_claims_are_short_and_printable(forged, out):
    forged.content["release_id"] = "\x1b[2J\n\u202e" * 100_000
    forged.content["drawn_at"] = "\x1b]0;own\x07"
    result = verify(forged.write(out))
    texts = [text for claim in result.claims for text in (claim.name, claim.claimed, claim.found)]
    assert all(text.isprintable() and len(text) <= 2000 for text in texts)
    assert result.to_frame().to_string().replace("\n", "").isprintable()


def test_a_table_for_notebooks_has_broken_claims_first(forged, out):
    forged.fidelity["cost_optimal"] = 1.0
    result = verify(forged.write(out))
    assert len(result.claims) > 45  # of which the table shows 40
    assert "DOES NOT HOLD" in result._repr_html_()


@pytest.mark.parametrize("part", ["low", "high"])
def test_another_interval_for_the_true_cost_is_found(forged, out, part):
    forged.costs["true_cost"][part] *= 1.1
    assert "interval for the true cost" in broken(forged.write(out))


def test_an_interval_that_is_left_out_is_found(forged, out):
    forged.costs["true_cost"] = None
    assert broken(forged.write(out)) == ["interval for the true cost"]


def test_what_was_spent_is_counted_at_a_distance(forged, out):
    forged.protection["cumulative_distance_mva"] = None
    assert broken(forged.write(out)) == ["cumulative ε"]
    forged.protection["cumulative_distance_mva"] = 100.0  # ten times α
    assert broken(forged.write(out)) == ["cumulative ε"]
    forged.protection["cumulative_epsilon"] = 10.0
    assert broken(forged.write(out)) == []
    forged.protection["cumulative_distance_mva"] = 0.1  # a release costs ε at least
    forged.protection["cumulative_epsilon"] = 1.0
    assert broken(forged.write(out)) == []
    forged.protection["cumulative_epsilon"] = 0.5
    assert broken(forged.write(out)) == ["cumulative ε"]


def test_costs_that_are_derived_say_where_from(forged, out):
    forged.costs.update(provenance="derived", source=derived_source(), true_cost=None)
    forged.state_again()
    assert broken(forged.write(out)) == []
    forged.costs["source"] = "annual report"
    forged.state_again()
    assert broken(forged.write(out)) == ["source of O*"]


NOT_GENUINE_NOW = [one for one in SignatureState if one is not SignatureState.GENUINE]


@pytest.mark.parametrize("state", NOT_GENUINE_NOW)
def test_a_release_is_signed_only_if_its_key_is_valid_now(state):
    assert not Verification((), "", None, SignatureCheck(state)).figures()["signed"]


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: text.replace("\n2,", "\n2,0.5,0.5\n2,", 1),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",0.", ",0.0", 1),
        lambda text: text.replace(",0.", ",00.", 1),
        lambda text: text.rstrip("\n") + "000000009861\n",
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n",
        lambda text: text + "\u0663",
        lambda text: text.replace("bus,x,y", "bus,y,x"),
        lambda text: text.replace("\n1,", '\n"1",'),
        lambda text: "bus,x,y\n" + "1\n" * 5,
        lambda text: "",
    ],
)
def test_positions_in_another_spelling_are_found(forged, out, spell):
    text = forged.files["positions.csv"].decode()
    forged.files["positions.csv"] = spell(text).encode()
    assert forged.files["positions.csv"] != text.encode()
    forged.write(out, page=False)
    assert verdict(out, "positions.csv") in (ClaimVerdict.BROKEN, ClaimVerdict.UNCHECKED)


def places(forged, change):
    """Change the positions, as numbers, in their usual spelling."""
    head, *rows = forged.files["positions.csv"].decode().splitlines()
    cells = np.array([row.split(",") for row in rows], dtype=float)
    cells[:, 1:] = change(cells[:, 1:])
    lines = [f"{int(n)},{x:.4f},{y:.4f}" for n, x, y in cells.tolist()]
    forged.files["positions.csv"] = "\n".join([head, *lines, ""]).encode()


def test_other_positions_are_not_believed(forged, out):
    places(forged, lambda at: np.where(np.arange(len(at))[:, None] == 1, 0.9861, at))
    forged.write(out)
    assert broken(out) == ["positions.csv"]
    assert verdict(out, "positions.csv") is ClaimVerdict.UNCHECKED


@pytest.mark.parametrize("change", [lambda at: at, lambda at: [1, 0] + at * [-1, 1]])
def test_positions_may_differ_by_rounding_and_direction(forged, out, change, monkeypatch):
    """Half-way between two roundings, the last bits of a machine decide."""
    at = np.array([[0.0, 0.12345], [1.0, 0.5], [0.3, 0.25], [0.4, 0.75], [0.6, 1.0]])
    places(forged, lambda _: change(at))
    forged.write(out)
    for bits in (-1e-12, 1e-12):
        near = at + np.where(at == 0.12345, bits, 0.0)
        monkeypatch.setattr(
            "gridveil.publication.verification.page_files.positions", lambda *_, own=near: own
        )
        assert broken(out) == []


@pytest.mark.parametrize("moved", [(slice(None), slice(None)), (1, 0), (2, 1)])
def test_no_digit_of_a_position_is_free(forged, out, moved):
    """A unit in the last place of each would be a bit that nobody checks."""

    def change(at):
        at[moved] += 0.0001
        return at

    places(forged, change)
    assert broken(forged.write(out)) == ["positions.csv"]


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "1." + "0" * 12 + "942"},
        {"epsilon": "1.0"},
        {"epsilon": "+1"},
        {"alpha": " 1/10\n"},
        {"alpha": "942190478000/9421904780000"},
        {"alpha": "0.1"},
        {"alpha": "1/10" + "0" * 14 + "1"},
        {"step": "1e-4"},
        {"step": "1/10000" + "0" * 9 + "1"},
    ],
)
def test_parameters_have_one_spelling_and_are_exactly_the_figures(forged, out, change):
    forged.protection["parameters"].update(change)
    assert "parameters" in broken(forged.write(out))


@pytest.mark.parametrize("change", [{"alpha": "0.1"}, {"step": "1"}, {"epsilon": "1.0"}])
def test_parameters_of_the_piecewise_mechanism_have_one_spelling(piecewise, out, change):
    forged = Forgery.of(piecewise)
    forged.protection["parameters"].update(change)
    assert "parameters" in broken(forged.write(out))


@pytest.mark.parametrize("figure", ["epsilon", "alpha_pu", "grid_step_pu"])
def test_no_last_digit_of_a_figure_is_free(forged, out, figure):
    forged.protection[figure] *= 1 + 1e-12
    assert "parameters" in broken(forged.write(out))


def test_parameters_that_the_mechanism_cannot_have_are_found(forged, out):
    """A grid of 5 p.u. lets a promise about 0.1 p.u. say nothing of the values released."""
    forged.protection["parameters"]["step"] = "5"
    forged.protection.update(grid_step_pu=5.0, noise_scale_pu=0.1 + 10)
    forged.costs["true_cost"] = None
    assert "parameters" in broken(forged.write(out))


def test_what_was_spent_is_the_owners_word_beyond_what_follows(forged, out):
    forged.protection["cumulative_epsilon"] = 123.0
    forged.content["ledgers"][0]["earlier"] = EARLIER_RELEASES
    assert broken(forged.write(out)) == []
    assert verdict(out, "cumulative ε") is ClaimVerdict.STATED


@pytest.mark.parametrize(
    "change",
    [
        {"earlier": "LOADS 21.7 12.7 94.2"},
        {"opened_at": "yesterday"},
        {"opened_at": "2026-11-19T04:00:00.942190+00:00"},
    ],
)
def test_what_is_said_of_a_ledger_is_what_ledgers_say(forged, out, change):
    forged.content["ledgers"][0].update(change)
    assert broken(forged.write(out)) == ["ledger"]


@pytest.mark.parametrize("change", [{"row": 0}, {"head": "94.2"}, {"ledger": "0" * 31}])
def test_a_row_of_a_ledger_has_its_form(forged, out, change):
    forged.content["ledgers"][0].update(change)
    with pytest.raises(ValidationError, match="ledgers"):
        forged.write(out)


def test_a_release_names_a_row_of_a_ledger(forged, out):
    forged.content["ledgers"] = []
    assert broken(forged.write(out)) == ["ledger"]


def test_two_parties_cannot_name_the_same_row(forged, out):
    forged.content["ledgers"] *= 2
    assert broken(forged.write(out)) == ["ledger"]


def test_a_first_release_has_spent_no_more_than_itself(forged, out):
    assert forged.content["ledgers"][0]["earlier"] == FIRST_RELEASE
    forged.protection["cumulative_epsilon"] *= 1.5
    assert broken(forged.write(out)) == ["ledger"]


@pytest.mark.parametrize(
    "time",
    [
        "",
        "LOADS 21.7 12.7 94.2",
        "2026-11-19",
        "2026-11-19T04:00:00",
        "2026-11-19T04:00:00+01:00",
        "2026-11-19T04:00:00.942190+00:00",
        "2026-11-19 04:00:00+00:00",
        "2026-13-19T04:00:00+00:00",
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_the_time_of_the_draw_is_a_time(forged, out, time):
    forged.content["drawn_at"] = time
    assert broken(forged.write(out)) == ["noise"]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("\u202eloads", "1.0"),
        ("loads", "94.2"),
        ("numpy", "2" * 41),
        ("numpy", "2 4"),
        ("numpy", ""),
    ],
)
def test_software_is_named_by_versions_alone(forged, out, name, version):
    forged.content["software"][name] = version
    assert "release" in broken(forged.write(out))


def test_zeros_have_no_sign(forged, out):
    text = forged.files["network.m"]
    forged.files["network.m"] = text.replace(b"\t0\t", b"\t-0\t", 1)
    assert forged.files["network.m"] != text
    assert broken(forged.write(out)) == ["network.m"]


HISTORY = b"iteration,primal,dual,rho,cost\n1,0.5,0.25,10,\n2,1e-09,2e-09,10,17551.9\n"


def by_agents(forged):
    forged.fidelity["method"] = "admm"
    band = BandKind(forged.fidelity["band"])
    forged.fidelity["promise"] = METHODS.get("admm").promise(forged.fidelity["beta"], band)
    forged.compute_again()
    return forged


def test_a_history_without_agents_is_found(forged, out):
    forged.files["history.csv"] = HISTORY
    assert broken(forged.write(out)) == ["history.csv"]


def test_a_history_of_agents_is_stated(forged, out):
    by_agents(forged).files["history.csv"] = HISTORY
    assert verdict(forged.write(out), "history.csv") is ClaimVerdict.STATED
    del forged.files["history.csv"]
    assert verdict(forged.write(out), "history.csv") is ClaimVerdict.STATED
    assert "No history of agents" in (out / "report.html").read_text()


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: text.replace(b"0.5,", b"0.500000000009861,"),
        lambda text: text.replace(b"\n2,", b"\n3,"),
        lambda text: text.replace(b"10,\n", b"10,nan\n"),
        lambda text: text.replace(b"10,\n", b"inf,\n"),
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text + b"\n",
        lambda text: text.splitlines(keepends=True)[0],
        lambda text: b"",
    ],
)
def test_a_history_in_another_spelling_is_found(forged, out, spell):
    by_agents(forged).files["history.csv"] = spell(HISTORY)
    assert spell(HISTORY) != HISTORY
    forged.write(out, page=False)
    assert verdict(out, "history.csv") is ClaimVerdict.BROKEN


def test_no_text_of_a_certificate_changes_what_is_seen_of_the_page(forged, out):
    forged.content["network"] = "case5\u202e100.0 = \u03b5 :deifitreC\u202c"
    forged.costs.update(provenance="published", source="report\u202e \u2066x", true_cost=None)
    forged.state_again()
    assert broken(forged.write(out)) == []
    page = (out / "report.html").read_text()
    assert page.replace("\n", "").isprintable()


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A release whose loads at two of three buses are consumers."""
    folder = tmp_path_factory.mktemp("limited")
    network, buses = load_case("case5_pjm"), load_case("case5_pjm").load_buses
    choices = {"hide": "10MVA", "cost_budget": 0, "beta": 0.05, "consumers": buses[:2]}
    made = release(network, folder / "ledger.sqlite", **choices, power_factor=0.9)
    made.save(folder / "out")
    return folder / "out"


@pytest.fixture
def consumers(limited):
    return Forgery.of(limited)


def test_limits_of_consumers_that_are_kept_verify(consumers, out):
    consumers.state_again()
    assert broken(consumers.write(out)) == []


@pytest.mark.parametrize(
    ("row", "p", "q", "says"),
    [
        (0, -0.5, 0.0, ["active power of consumers", "power factor of consumers"]),
        (1, 10.0, -20.0, ["power factor of consumers"]),
        (2, -0.5, 20.0, []),  # not a consumer
    ],
)
def test_a_consumer_that_breaks_its_limits_is_found(consumers, out, row, p, q, says):
    tables = consumers.tables()
    bus = np.flatnonzero(np.isin(tables["bus"][:, 0], consumers.content["load_buses"]))[row]
    tables["bus"][bus, 2:4] = p, q
    consumers.put_tables(tables)
    consumers.put_loads()
    limits = [name for name in broken(consumers.write(out)) if "of consumers" in name]
    assert limits == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"power_factor": None}, ["post-processing", "what is public"]),
        ({"power_factor": 0.99999}, ["post-processing", "what is public"]),
        ({"bias_corrected": True}, ["post-processing", "correction of the bias"]),
        ({"sentences": ["Nothing was done."]}, ["post-processing"]),
    ],
)
def test_what_is_said_of_post_processing_follows(consumers, out, change, says):
    consumers.content["post_processing"] |= change
    assert set(says) <= set(broken(consumers.write(out)))


def test_noise_without_a_bias_was_not_corrected(consumers, out):
    consumers.content["post_processing"]["bias_corrected"] = True
    consumers.state_again()
    assert "correction of the bias" in broken(consumers.write(out))


@pytest.mark.parametrize("change", [lambda b: b[::-1], lambda b: [*b, b[-1]], lambda b: [*b, 77]])
def test_consumers_are_buses_with_a_load(consumers, out, change):
    of = consumers.content["post_processing"]
    of["consumers"] = change(of["consumers"])
    consumers.state_again()
    assert "consumers" in broken(consumers.write(out))


def test_post_processing_cannot_be_left_out(consumers, out):
    del consumers.content["post_processing"]
    assert "what is public" in broken(consumers.write(out))
