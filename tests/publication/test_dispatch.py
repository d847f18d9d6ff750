"""Releases with a band on the dispatch, or none: plan, run, certificate, check and forecast."""

import json

import numpy as np
import pytest

from gridveil import (
    GridveilError,
    PublicDispatch,
    load_case,
    plan,
    plan_release,
    release,
    solve_acopf,
    verify,
    with_marginal_costs,
)
from gridveil.fidelity.base import BandKind
from gridveil.publication.certificate import Certificate
from gridveil.publication.dispatch import private_dispatch
from gridveil.publication.statements import dispatch_rounded
from tests.cases import TINY, gen, network_without_costs

NETWORK = network_without_costs("case14_ieee")
MVA = NETWORK.base_mva


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.sqlite"


def saved(made, tmp_path):
    made.save(tmp_path / "out")
    return tmp_path / "out"


def off_p_star(made):
    """How far published outputs are from p*, as a share of ranges, from the files alone."""
    gens, stated = made.published.network.generators, made.certificate.dispatch
    width = gens.p_max - gens.p_min
    off = np.abs(made.published.point.p - np.array(stated.megawatts) / MVA)
    return float((off[width > 0] / width[width > 0]).max())


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("case14_ieee", {}),
        ("case14_ieee", {"method": "admm"}),
        ("case14_ieee", {"alpha": "0.1", "cost_budget": "0.2"}),
        ("case5_pjm", {"mechanism": "polar-laplace", "hide": "5MVA"}),
        ("case39_epri", {"consumers": "all"}),
    ],
)
def test_a_network_without_costs_keeps_its_dispatch(ledger, tmp_path, name, choices):
    made = release(network_without_costs(name), ledger, **choices)
    stated = made.certificate
    assert stated.fidelity.band == "dispatch"
    assert stated.fidelity.method == choices.get("method", "central")
    assert stated.costs is None
    assert stated.dispatch.provenance == "private"
    assert stated.dispatch.source.startswith("computed by proportional dispatch from the private")
    assert stated.private_as_a_whole
    assert off_p_star(made) <= 0.01 + 1e-6
    assert stated.fidelity.largest_deviation == pytest.approx(off_p_star(made), abs=1e-5)
    assert stated.fidelity.cost_optimal is None
    text = json.dumps(stated.model_dump(mode="json"))
    assert "costs O*" not in text
    page = made.files["report.html"].decode()
    assert "O*" not in page
    assert "Do generators give what they should?" in page
    checked = verify(saved(made, tmp_path))
    assert [claim for claim in checked.claims if not claim.ok] == []
    assert {"dispatch keeps β", "largest deviation from p*"} <= {c.name for c in checked.claims}


def test_the_private_dispatch_is_the_proportional_one_of_the_private_loads(ledger):
    made = release(NETWORK, ledger, hide="2%")
    loads = NETWORK.with_loads(made.noisy.p, made.noisy.q)
    expected = solve_acopf(loads)
    assert expected.status.solved  # 2 % of noise leaves the network working
    gens, stated = NETWORK.generators, np.array(made.certificate.dispatch.megawatts)
    width = (gens.p_max - gens.p_min) * MVA
    assert np.abs(stated - expected.point.p * MVA).max() <= 0.05 * 0.01 * width.max() + 0.05
    assert np.all(np.abs(stated - expected.point.p * MVA)[width == 0] < 1e-4)


@pytest.mark.parametrize("method", ["central", "admm"])
def test_without_a_band_nothing_is_said_of_the_dispatch(ledger, tmp_path, method):
    made = release("case14_ieee", ledger, band="none", method=method)
    stated = made.certificate
    assert (stated.costs, stated.dispatch) == (None, None)
    assert stated.fidelity.promise == "nothing is promised about its dispatch"
    assert all("O*" not in one.what and "p*" not in one.what for one in stated.invariants)
    assert "O*" not in made.files["report.html"].decode()
    assert verify(saved(made, tmp_path)).ok
    assert made.opf is None


def test_a_network_with_costs_keeps_the_cheapest_dispatch(ledger, tmp_path):
    made = release("case5_pjm", ledger, band="dispatch", beta=0.05)
    stated = made.certificate
    assert stated.dispatch.source == "computed from the private loads; protected like the loads"
    assert stated.fidelity.proportional_deviation is None
    assert verify(saved(made, tmp_path)).ok


def test_a_dispatch_that_was_published(ledger, tmp_path):
    dispatch = solve_acopf(NETWORK).point.p * MVA
    path = tmp_path / "dispatch.csv"
    rows = "".join(f"{g + 1},{mw!r}\n" for g, mw in enumerate(dispatch.tolist()))
    path.write_text(f"generator,p_mw\n{rows}")
    with pytest.raises(GridveilError, match="--dispatch-source"):
        plan_release(NETWORK, ledger=ledger, dispatch=path)
    made = release(NETWORK, ledger, dispatch=path, dispatch_source="transparency platform")
    stated = made.certificate
    assert stated.dispatch.provenance == "published"
    assert stated.dispatch.megawatts == dispatch.tolist()
    assert stated.invariants[-1].provenance == "published: transparency platform"
    out = saved(made, tmp_path)
    assert verify(out, dispatch=path).ok
    path.write_text(path.read_text().replace("\n1,", "\n1,1"))
    broken = [claim.name for claim in verify(out, dispatch=path).claims if not claim.ok]
    assert broken == ["p* is that of the file"]
    costs = tmp_path / "costs.csv"
    costs.write_text("generator,cost\n1,5\n")
    assert [c.name for c in verify(out, costs=costs).claims if not c.ok] == ["costs of the file"]


def test_a_dispatch_of_the_raw_loads_is_declared_public(ledger, tmp_path):
    with pytest.raises(GridveilError, match="--declare-public dispatch"):
        plan_release(NETWORK, ledger=ledger, dispatch="derived")
    with pytest.raises(GridveilError, match="'costs' is not 'dispatch'"):
        plan_release(NETWORK, ledger=ledger, dispatch="derived", declare_public="costs")
    choices = {"dispatch": "derived", "declare_public": "dispatch"}
    planned = plan_release(NETWORK, ledger=ledger, **choices)
    assert "Not private as a whole. The owner declares the dispatch p* public" in planned.statement
    assert planned.release_id != plan_release(NETWORK, ledger=ledger).release_id
    made = planned.run(ledger)
    raw = solve_acopf(NETWORK).point.p * MVA
    assert np.abs(np.array(made.certificate.dispatch.megawatts) - raw).max() < 0.1
    assert not made.certificate.private_as_a_whole
    assert "the dispatch p*" in made.certificate.protection.not_covered[0]
    assert verify(saved(made, tmp_path)).private_as_a_whole is False
    heavier = NETWORK.with_loads(1.01 * NETWORK.loads.p, NETWORK.loads.q)
    with pytest.raises(GridveilError):  # under an id, it is that of one day
        plan_release(heavier, ledger=ledger, release_id=planned.release_id, **choices).run(ledger)


def test_a_private_dispatch_says_nothing_more_of_the_raw_loads(ledger):
    """Two owners with other loads and the same noise publish the same bytes."""
    made = release(NETWORK, ledger, release_id="one")
    other = NETWORK.with_loads(NETWORK.loads.p[::-1].copy(), NETWORK.loads.q[::-1].copy())
    again = release(other, ledger, release_id="one")  # the noise was drawn before
    assert again.files == made.files


def test_the_plan_says_which_band_and_why(ledger):
    planned = plan_release(NETWORK, ledger=ledger)
    text = repr(planned)
    assert planned.band is BandKind.DISPATCH
    assert "the network has no generator costs" in text
    assert "the dispatch p* is computed by proportional dispatch from the private loads" in text
    assert "outputs stay within 0.01 of their range of p*: ±0.59 to ±3.4 MW" in text
    assert "O*" not in text
    assert (planned.figures()["costs"], planned.figures()["dispatch"]) == (None, "private")
    assert repr(plan_release("case5_pjm", ledger=ledger)).count("costs O*") > 0


@pytest.mark.parametrize(
    ("network", "choices", "says"),
    [
        (NETWORK, {"band": "cost"}, "has no generator costs. Give marginal costs"),
        (NETWORK, {"costs": "private"}, "has no generator costs"),
        (NETWORK, {"band": "none", "dispatch": "private"}, "'none' has no use for it"),
        ("case5_pjm", {"band": "dispatch", "costs": "private"}, "'dispatch' has no use for it"),
        (NETWORK, {"method": "bilevel"}, "keeps the optimal cost near O"),
        ("case5_pjm", {"band": "none", "cost_budget": "0.1"}, "drop one of both"),
        (NETWORK, {"costs_source": "there"}, "means something with known --costs only"),
        (NETWORK, {"dispatch": [1e6] * 5, "dispatch_source": "x"}, "is not within 0.01 of its"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(ledger, network, choices, says):
    with pytest.raises(GridveilError, match=says):
        plan_release(network, ledger=ledger, **choices)
    assert not ledger.exists()


def test_a_table_of_marginal_costs_makes_a_network_one_with_costs(ledger, tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("generator,marginal_cost\n1,10\n2,25\n3,0\n4,0\n5,0\n")
    planned = plan_release(NETWORK, ledger=ledger, costs=path)
    assert (planned.band, planned.method.name) == (BandKind.COST, "bilevel")
    made = planned.run(ledger)
    assert made.certificate.costs.provenance == "private"
    priced = with_marginal_costs(NETWORK, path).generators.costs
    ones = np.ones(5)
    assert made.published.network.generators.costs(ones) == pytest.approx(priced(ones))
    assert verify(saved(made, tmp_path)).ok


def test_a_unit_without_limits_is_held_to_nothing_and_the_plan_says_so(ledger):
    free = TINY.with_(gen=[gen(1, 1e9, p_min=-1e9), gen(7, 100.0)], gencost=[]).network()
    planned = plan_release(free, ledger=ledger, hide="10%")
    assert any("generator 1 (bus 1) has no limits of active power" in w for w in planned.warnings)
    assert not any("no limits" in w for w in plan_release(NETWORK, ledger=ledger).warnings)


def test_digits_beyond_what_beta_can_use_are_not_published():
    mw, width = np.array([123.456789, 7.123456, 5.0, 9.87654321]), np.array([400.0, 30, 0, np.inf])
    found = dispatch_rounded(mw, width, 0.01, 100.0)
    assert found.tolist() == [123.5, 7.12, 5.0, 0.0]
    assert np.all(np.abs(found - mw)[:2] <= 0.05 * 0.01 * width[:2])
    assert dispatch_rounded(found, width, 0.01, 100.0).tolist() == found.tolist()


def test_private_dispatch_of_loads_that_work_not():
    """Where the private loads have no dispatch, that of the nearest is taken."""
    heavy = 2.5 * NETWORK.loads.values
    assert not solve_acopf(NETWORK.with_loads(*heavy.T)).status.solved
    found, near = private_dispatch(NETWORK, heavy, 0)
    assert near.sum() < heavy.sum()
    own = solve_acopf(NETWORK.with_loads(*near.T))
    assert found.values == pytest.approx(own.point.p * MVA, abs=0.05)


def test_a_forecast_speaks_of_the_dispatch(ledger):
    outlook = plan(NETWORK, draws=3, ledger=ledger)
    restoring = outlook.asked.forecast.restoring
    assert restoring.cost_error is None
    assert 0 < restoring.dispatch_error.median < 0.5
    text = repr(outlook)
    assert "the released dispatch will differ from the true one by at most" in text
    assert "dispatch off by, of ranges" in text
    assert "cost" not in text
    nothing = plan(NETWORK, band="none", draws=2, ledger=ledger)
    assert nothing.asked.forecast.restoring.dispatch_error is None
    assert nothing.asked.forecast.restoring.released.happened == 2


def test_certificates_of_bands_hold_together():
    with pytest.raises(GridveilError, match="say where"):
        PublicDispatch.published(np.ones(2), " ")
    schema = Certificate.model_json_schema()
    assert schema["$defs"]["Fidelity"]["properties"]["band"]["enum"] == [
        "cost", "generator", "total", "dispatch", "none",
    ]  # fmt: skip
    assert load_case("case5_pjm").has_costs
