"""A plan decides and checks everything; nothing is drawn or spent before it runs."""

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from gridveil import (
    AgentOptions,
    BudgetExceededError,
    GridveilError,
    Ledger,
    PolarLaplace,
    ProductLaplace,
    PublicCosts,
    PublicRatings,
    RelativeLaplace,
    load_case,
    plan_release,
    release,
    solve_acopf,
    verify,
)
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.central import Central
from gridveil.fidelity.weights import metric_weights
from gridveil.privacy.metric import Metric
from gridveil.publication.costs import private_costs
from tests.cases import TINY


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_a_plan_leaves_no_trace(path):
    plan = plan_release("case14_ieee", ledger=path)
    repr(plan), plan.figures(), plan._repr_html_()
    assert not path.exists()
    assert plan.charge.epsilon == 1
    assert plan.charge.least_left == 2
    assert not plan.charge.is_drawn


def test_the_promise_of_a_plan_is_that_of_the_certificate(path):
    plan = plan_release("case14_ieee", epsilon="0.5", hide="10MVA", cost_budget="0.1", ledger=path)
    made = plan.run(path)
    stated = made.certificate.protection
    assert plan.promise.sentence(100.0) == stated.promise
    assert plan.promise.epsilon == stated.epsilon == 0.5
    assert stated.epsilon_costs == 0.1
    assert made.certificate.release_id == plan.release_id
    assert {account.spent for account in Ledger(path).accounts()} == {plan.charge.epsilon}


def test_a_drawn_release_is_charged_nothing_again(path):
    first = release("case14_ieee", path, epsilon=2)
    plan = plan_release("case14_ieee", epsilon=2, ledger=path)
    assert plan.charge.is_drawn
    assert plan.charge.epsilon == 0
    assert "nothing would be charged again" in repr(plan)
    assert plan.run(path).files == first.files
    with pytest.raises(BudgetExceededError):
        plan_release("case14_ieee", epsilon=1.5, ledger=path)


@dataclass(frozen=True)
class Umlaut(ProductLaplace):
    """A mechanism whose name no certificate can hold."""

    name = "lärm"


def test_what_cannot_be_certified_is_never_charged(path):
    with pytest.raises(GridveilError, match="could not be certified, so nothing is drawn"):
        release("case14_ieee", path, mechanism=Umlaut.of(1, 0.1))
    assert not path.exists()


class Unwilling(Central):
    """A method that promises something no certificate can hold."""

    name = "unwilling"

    @classmethod
    def promise(cls, beta, band):
        return None


class Undecided(Central):
    """A method that does not say which gap it keeps."""

    name = "undecided"

    @classmethod
    def kept_gap(cls, gaps, band):
        return None


@pytest.mark.parametrize("method", [Unwilling(), Undecided()])
def test_nor_is_what_a_method_cannot_put_into_words(path, method):
    with pytest.raises(GridveilError, match="could not be certified"):
        release("case14_ieee", path, method=method)
    assert not path.exists()


def test_agents_options_keep_the_last_central_step(path):
    """They used to drop it, so that most releases failed after they were charged."""
    plan = plan_release("case14_ieee", method="admm", agents=AgentOptions(), ledger=path)
    assert plan.method.options.polish is True
    told = plan_release(
        "case14_ieee", method="admm", agents=AgentOptions(polish=False), ledger=path
    )
    assert told.method.options.polish is False


def test_costs_may_be_an_array_a_file_or_ready_made(path, tmp_path):
    network = load_case("case14_ieee")
    costs = solve_acopf(network).generator_costs
    table = tmp_path / "costs.csv"
    rows = "".join(f"{row + 1},{cost!r}\n" for row, cost in enumerate(costs.tolist()))
    table.write_text(f"generator,cost\n{rows}")
    for given in (costs, costs.tolist(), table, str(table)):
        plan = plan_release(network, costs=given, costs_source="annual report", ledger=path)
        assert np.allclose(plan.target.values, costs)
        with pytest.raises(GridveilError, match="where these costs were published"):
            plan_release(network, costs=given, ledger=path)
    ready = PublicCosts.published(costs, "annual report")
    assert plan_release(network, costs=ready, ledger=path).target is ready
    for wrong in (costs[:-1], [*costs[:-1], math.nan], "x", [[]]):
        with pytest.raises(GridveilError):
            plan_release(network, costs=wrong, costs_source="annual report", ledger=path)


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"mechanism": PolarLaplace.of(1, 0.1), "epsilon": 1}, "has its own"),
        ({"mechanism": PolarLaplace.of(1, 0.1), "cost_budget": "0.1"}, "part of ε"),
        ({"mechanism": "magic"}, "is none of polar-laplace"),
        ({"mechanism": 7}, "a name or an object"),
        ({"mechanism": "polar-laplace", "calibration": "paper"}, "is none of mechanism"),
        ({"method": "magic"}, "is none of central"),
        ({"method": Central}, "a name or an object"),
        ({"method": Central(), "agents": AgentOptions()}, "has its options already"),
        ({"method": "central", "agents": AgentOptions()}, "mean nothing to method 'central'"),
        ({"band": "generators"}, "is none of cost"),
        ({"cost_budget": "2"}, "must be below ε"),
        ({"costs_source": "x"}, "with known --costs only"),
        ({"release_id": " "}, "needs an id"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_what_does_not_fit_together_is_refused(path, choices, says):
    with pytest.raises(GridveilError, match=says):
        plan_release("case14_ieee", ledger=path, **choices)
    assert not path.exists()


def test_the_whole_way_with_paths_and_names(path, tmp_path):
    (tmp_path / "tiny.m").write_text(TINY.text())
    made = release(str(tmp_path / "tiny.m"), str(path), epsilon=0.5, beta=0.05)
    made.save(str(tmp_path / "out"))
    assert verify(str(tmp_path / "out")).ok


def test_a_plan_can_run_under_another_method(path):
    """A failed fidelity phase is tried again under the same id at no further cost."""
    plan = plan_release("case14_ieee", ledger=path)
    plan.run(path)
    again = replace(plan, method=Central()).run(path)
    assert again.certificate.fidelity.method == "central"
    assert {account.spent for account in Ledger(path).accounts()} == {1}


@pytest.mark.parametrize("source", ["\udcff", "report \ud800"])
def test_texts_that_no_file_can_hold_are_refused_before_anything_is_charged(path, source):
    network = load_case("case5_pjm")
    costs = solve_acopf(network).generator_costs
    with pytest.raises(GridveilError, match="could not be certified"):
        release(network, path, costs=costs, costs_source=source, beta=0.05)
    assert not path.exists()


def test_a_comment_that_agrees_with_noise_by_chance_can_be_kept(path, tmp_path):
    """The same is refused if it agrees with a load."""
    made = release(TINY.network(), path, beta=0.5, release_id="one")
    noise = 80.0 - 100 * made.noisy.p[0]
    displacement = 50.0 - 100 * made.published.network.loads.p[1]
    case = TINY.with_cell("bus", 1, 2, 80.125)
    source = tmp_path / "tiny.m"
    for number in (noise, displacement, 80.125):
        of_file = TINY if number != 80.125 else case
        source.write_text(f"{of_file.text()}\n% see page {float(number)!r}\n")
        choices = {"keep": "comments", "beta": 0.5, "release_id": "one", "ledger": path}
        if of_file is case:
            with pytest.raises(GridveilError, match="P of bus 2"):
                plan_release(source, **choices)
        else:
            kept = f"% see page {float(number)!r}\n".encode()
            assert kept in plan_release(source, **choices).run(path).files["network.m"]


@pytest.mark.parametrize("release_id", ["\udcff", "a\nb", 5, b"x", ""])
def test_ids_are_checked_with_the_plan(path, release_id):
    with pytest.raises(GridveilError, match="id"):
        plan_release("case5_pjm", release_id=release_id, ledger=path)
    assert not path.exists()


def test_a_total_that_cannot_be_drawn_is_refused_before_anything_is_charged(path):
    with pytest.raises(GridveilError, match="more than can be drawn"):
        release("case5_pjm", path, hide="10MVA", cost_budget="1e-12", beta=0.05)
    assert not path.exists()


def test_a_changed_plan_is_checked_again(path):
    plan = plan_release("case5_pjm", beta=0.05, ledger=path)
    costs = PublicCosts.published(solve_acopf(plan.network).generator_costs, "report")
    named_like_ours = type("Own", (ProductLaplace,), {"name": "polar-laplace"}).of(1, 0.1)
    for changes in (
        {"release_id": "x (total)"},
        {"beta": math.nan},
        {"mechanism": named_like_ours},
        {"mechanism": None},
        {"target": costs, "provenance": costs.provenance, "cost_budget": Fraction(1, 10)},
        {"target": costs, "provenance": costs.provenance, "band": BandKind.DISPATCH},
        {"target": costs, "provenance": costs.provenance, "band": BandKind.NONE},
        {"band": BandKind.DISPATCH},
        {"cost_budget": Fraction(1, 10**12)},
    ):
        with pytest.raises(GridveilError):
            replace(plan, **changes).run(path)
    with pytest.raises(GridveilError, match="Ed25519PrivateKey expected"):
        plan.run(path, key="a key")
    assert not path.exists()


class Failing(Central):
    """A method with a bug."""

    name = "failing"

    def solve(self, problem):
        raise ZeroDivisionError("a bug")


class NotANumber(Central):
    """A method whose operating point is none."""

    name = "not-a-number"

    def solve(self, problem):
        found = super().solve(problem)
        return replace(found, point=replace(found.point, theta=found.point.theta * math.nan))


class WithoutStatus(Central):
    """A method that does not say how it ended."""

    name = "without-status"

    def solve(self, problem):
        return replace(super().solve(problem), status=None)


@pytest.mark.parametrize("method", [Failing(), NotANumber(), WithoutStatus()])
def test_a_method_that_fails_leaves_the_draw_to_another(path, method):
    with pytest.raises(GridveilError, match="private loads are kept under release id 'one'"):
        release("case5_pjm", path, method=method, beta=0.05, release_id="one")
    made = release("case5_pjm", path, beta=0.05, release_id="one")
    assert made.certificate.protection.cumulative_epsilon == 1


def test_a_plan_warns_of_wide_relative_noise_and_charges_it_in_its_own_metric(path):
    plan = plan_release(TINY.network(), mechanism=RelativeLaplace.of(1, "0.4"), ledger=path)
    assert any("some loads will come out several times too large" in w for w in plan.warnings)
    charge = plan.spending().charge
    assert (charge.metric, charge.distance) == (Metric.RELATIVE, Fraction(2, 5))
    usual = plan_release(TINY.network(), mechanism=RelativeLaplace.of(1, "0.1"), ledger=path)
    assert not any("too large" in w for w in usual.warnings)


def test_a_relative_promise_buys_no_total(path):
    network = load_case("case39_epri")
    plan = plan_release(network, mechanism="relative-laplace", ledger=path)
    assert (plan.cost_budget, plan.shares) == (0, ())
    with pytest.raises(GridveilError, match="has a distance in MVA"):
        plan_release(network, mechanism="relative-laplace", cost_budget=0.2, ledger=path)


def test_costs_are_those_of_loads_without_the_bias_of_their_noise(path):
    plan = plan_release("case39_epri", hide="30%", beta=0.05, release_id="one", ledger=path)
    made = plan.run(path)
    loads = np.stack([made.noisy.p, made.noisy.q], axis=1)
    unbiased = plan.mechanism.corrected(loads)
    assert unbiased[:, 0].sum() == pytest.approx(0.91 * loads[:, 0].sum(), rel=1e-2)
    expected, _ = private_costs(
        plan.network, unbiased, 0, metric_weights(plan.mechanism.guarantee(), loads)
    )
    stated = made.certificate.costs.dollars_per_hour
    assert sum(stated) == pytest.approx(expected.values.sum(), rel=1e-3)


def rated(mva, source="a grid map"):
    return {"hide": "10%rating", "ratings": PublicRatings.of(mva, source), "beta": 0.05}


@pytest.mark.parametrize("unit", ["0.0001", "1000000000"])
def test_ratings_in_another_unit_are_refused_before_the_draw(path, unit):
    with pytest.raises(GridveilError, match=r"Nothing was drawn\. Are the ratings in MVA\?"):
        release("case5_pjm", path, **rated(["400", unit, "630"]))
    assert not path.exists() or Ledger(path).is_empty


def test_ratings_are_public_and_listed(path):
    plan = plan_release("case5_pjm", ledger=path, **rated(["400", "400", "630"]))
    assert "the rating of every load, from a grid map" in plan.public
    made = plan.run(path)
    stated = {one.what: one.provenance for one in made.certificate.invariants}
    assert stated["the rating of every load"] == "published: a grid map"


def test_ratings_that_are_the_loads_themselves_are_refused_before_the_draw(path):
    network = load_case("case5_pjm")
    size = np.hypot(*network.loads.values.T) * network.base_mva
    with pytest.raises(GridveilError, match=r"ratings: \|S\| of bus 2"):
        release(network, path, **rated([f"{value:.6f}" for value in size]))
    assert not path.exists()


def test_a_drawn_release_does_not_ask_whether_other_loads_are_the_ratings(path):
    network, ratings = load_case("case5_pjm"), ["412.7", "423.9", "655.3"]
    made = release(network, path, release_id="one", **rated(ratings))
    others = network.with_loads(np.array([float(one) for one in ratings]) / 100, np.zeros(3))
    again = release(others, path, release_id="one", **rated(ratings))
    assert again.files["loads.csv"] == made.files["loads.csv"]


def test_ratings_that_agree_with_other_loads_are_released(path):
    """Of ratings with three digits some always do, and distances that follow from them."""
    network = load_case("case14_ieee")
    p, q = network.loads.values.T * network.base_mva
    others = np.roll(np.hypot(p, q), 1)
    ratings = [f"{10 * value:.1f}" for value in others]  # the least distance is then an |S|
    ratings[3:] = [f"{value:.2f}" for value in others[3:]]
    made = release(network, path, **rated(ratings))
    assert json.loads(made.certificate.protection.parameters["ratings"]) == [
        f"{float(rating):g}" for rating in ratings
    ]


def test_a_plan_that_was_changed_is_checked_again_before_the_draw(path):
    plan = plan_release("case14_ieee__api", ledger=path, beta=0.05)
    with pytest.raises(GridveilError, match=r"(?s)network\.m: P of bus 2.*Nothing was drawn"):
        replace(plan, keep=("comments",)).run(path)
    assert not path.exists()


def test_what_was_spent_in_promises_of_another_kind_is_said(path):
    release("case5_pjm", path, hide="10MVA", epsilon=2, beta=0.05)
    plan = plan_release("case5_pjm", hide="10%", ledger=path, beta=0.05)
    assert any("spent ε = 2 in absolute promises too" in warning for warning in plan.warnings)
    made = plan.run(path)
    assert made.certificate.protection.also_spent == {"absolute": 2.0}
    assert "apart from that ε = 2 in promises in MVA" in made.files["report.html"].decode()


@pytest.mark.parametrize("base", [49.0, 98.0, 33.3])
def test_a_floor_of_one_mva_is_one_on_every_base(path, base):
    network = TINY.with_(base_mva=base).network()
    made = release(network, path, floor="1MVA", beta=0.5)
    of = made.certificate.protection
    assert (of.floor_mva, of.cumulative_floor_mva, of.cumulative_epsilon) == (1.0, 1.0, 1.0)


def test_what_a_certificate_says_is_counted_as_the_ledger_counts(path):
    """It said ε = 2 at 20 MVA where the loads had accounts of their own, with ε = 21."""
    Ledger(path).set_cap(100)
    release("case5_pjm", path, **rated(["10", "10", "10"]))
    made = release("case5_pjm", path, hide="20MVA", beta=0.05)
    of = made.certificate.protection
    assert (of.cumulative_distance_mva, of.cumulative_differs) == (1.0, False)
    assert of.cumulative_epsilon == 2.0
    fine = release("case5_pjm", path, hide="0.1MVA", beta=0.05, release_id="fine")
    assert fine.certificate.protection.cumulative_epsilon == 2.0 + 10.0
