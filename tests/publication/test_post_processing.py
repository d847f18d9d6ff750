"""Post-processing of releases: what is asked for is done, stated, and costs nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gridveil import (
    AgentOptions,
    Clamped,
    GridveilError,
    Ledger,
    ProductLaplace,
    PublicBounds,
    RelativeLaplace,
    load_case,
    plan_release,
    release,
    verify,
)
from gridveil.claims import ClaimVerdict
from gridveil.fidelity.central import Central
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import read_certificate
from gridveil.publication.post_processing import at_buses, make_post_processing
from gridveil.publication.statements import post_processing_sentences
from gridveil.publication.true_cost import LoadNoise

NETWORK = load_case("case14_ieee")
RELATIVE, ABSOLUTE = RelativeLaplace.of(1, "0.1"), ProductLaplace.of(1, "0.1")
BUSES = NETWORK.load_buses
WIDE = {"hide": "10MVA", "cost_budget": 0, "beta": "0.05"}
EVERYTHING = {"consumers": "all", "power_factor": "0.9", "correct_bias": True}


def made(consumers=None, power_factor=None, correct_bias=False, mechanism=RELATIVE):
    return make_post_processing(NETWORK, mechanism, consumers, power_factor, correct_bias)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_consumers_are_all_loads_a_list_or_a_file(tmp_path):
    listed = tmp_path / "consumers.csv"
    listed.write_text("bus\n3\n14\n")
    assert made("all").consumers(BUSES) == BUSES
    for consumers in ([14, 3], {3, 14}, listed, str(listed)):
        assert made(consumers).consumers(BUSES) == [3, 14]
    assert made("all", "0.9").power_factor == 0.9
    assert not made().is_any
    assert made(correct_bias=True).consumers(BUSES) == []


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"power_factor": 0.9}, r"--power-factor .* with --consumers only; '--consumers all'"),
        ({"consumers": "all", "power_factor": 1}, "power factor: 1 must be above 0 and below 1"),
        ({"consumers": "all", "power_factor": "high"}, "power factor"),
        ({"consumers": [3, 7, 8]}, r"--consumers .*: 7 and 1 more is not the number of a bus"),
        ({"consumers": []}, r"--consumers .*: names no bus"),
        ({"consumers": "nowhere.csv"}, "nowhere.csv: cannot be read"),
        ({"correct_bias": True, "mechanism": ABSOLUTE}, "product-laplace has no bias"),
    ],
)
def test_what_does_not_fit_is_refused_with_place_and_remedy(choices, says):
    with pytest.raises(GridveilError, match=says):
        made(**choices)


def test_a_list_is_refused_with_its_file_and_line(tmp_path):
    path = tmp_path / "consumers.csv"
    path.write_text("bus\n3\nthree\n")
    with pytest.raises(GridveilError, match=r"consumers\.csv:3: a bus number is needed"):
        made(path)
    path.write_text("7\n")
    with pytest.raises(GridveilError, match=r"consumers\.csv: 7 is not the number of a bus"):
        made(path)


def test_private_loads_are_corrected_and_then_moved_within_the_limits():
    loads = np.linspace(-1, 1, 22).reshape(11, 2)
    both = made("all", 0.9, correct_bias=True)
    corrected = RELATIVE.corrected(loads)
    assert (both.applied(loads, RELATIVE) == both.limits.nearest(corrected)).all()
    assert (made(correct_bias=True).applied(loads, RELATIVE) == corrected).all()
    assert made().applied(loads, RELATIVE) is loads
    bounds = PublicBounds(np.full((1, 2), -2.0), np.full((1, 2), 2.0), "ratings")
    clamped = made(correct_bias=True, mechanism=Clamped(RELATIVE, bounds))
    assert (clamped.applied(loads, Clamped(RELATIVE, bounds)) == corrected).all()


def test_redrawn_noise_is_post_processed_too():
    """The interval for the true cost follows from what is left of the noise."""
    of, loads = made("all", 0.9, correct_bias=True), NETWORK.loads.values
    blocks = LoadNoise(RELATIVE, None, of).redraws(loads)
    released = loads + np.concatenate(list(blocks))
    slope = math.tan(math.acos(0.9)) + 1e-9
    assert (np.abs(released[..., 1]) <= slope * released[..., 0] + 1e-9).all()
    plain = np.concatenate(list(LoadNoise(RELATIVE, None).redraws(loads)))
    corrected = LoadNoise(RELATIVE, None, made(correct_bias=True)).redraws(loads)
    share = np.concatenate(list(corrected))[..., 0].mean(axis=0) / loads[:, 0]
    raised = plain[..., 0].mean(axis=0) / loads[:, 0]
    assert raised - share == pytest.approx(RELATIVE.chart_scale**2, rel=0.05)


def test_a_certificate_names_the_same_post_processing():
    of = made([3, 14], 0.9)
    again = at_buses(BUSES, of.consumers(BUSES), of.power_factor, of.corrects_bias)
    assert again.limits == of.limits
    assert at_buses(BUSES, [], None, True).limits is None


def test_sentences_say_what_was_done():
    assert post_processing_sentences(0, 11, None, False) == []
    said = " ".join(post_processing_sentences(2, 11, 0.9, True))
    for part in ("bias of their mean", "2 of 11 loads", "0.9 or more", "costs no privacy"):
        assert part in said
    assert "all 11 loads" in post_processing_sentences(11, 11, None, False)[0]


@pytest.mark.parametrize("method", ["bilevel", "central", "admm"])
def test_a_release_keeps_and_states_what_was_asked_for(ledger, tmp_path, method):
    out = tmp_path / "out"
    free = release("case14_ieee", ledger, **WIDE, method=method)
    held = release(
        "case14_ieee", ledger, **WIDE, method=method, consumers="all", power_factor="0.9"
    )
    held.save(out)
    p, q = held.published.network.loads.values.T
    slope = math.tan(math.acos(0.9))
    assert (p >= 0).all()
    assert (np.abs(q) <= slope * p + 1e-9).all()
    p, q = free.published.network.loads.values.T
    assert (p < -1e-3).any() or (np.abs(q) > slope * p + 1e-3).any()
    stated = held.certificate.post_processing
    assert (stated.consumers, stated.power_factor, stated.bias_corrected) == (BUSES, 0.9, False)
    assert held.certificate.private_as_a_whole
    public = [one.what for one in held.certificate.invariants]
    assert "the lowest power factor of consumers, 0.9" in public
    page = held.files["report.html"].decode()
    assert all(sentence in page for sentence in stated.sentences)
    checked = verify(out)
    assert checked.ok
    verdicts = {one.name: one.verdict for one in checked.claims}
    assert verdicts["post-processing"] is ClaimVerdict.RECOMPUTED
    assert verdicts["active power of consumers"] is ClaimVerdict.RECOMPUTED
    assert verdicts["power factor of consumers"] is ClaimVerdict.RECOMPUTED
    assert verdicts["consumers"] is ClaimVerdict.STATED


def test_a_corrected_release_has_smaller_loads_and_verifies(ledger, tmp_path):
    free = release("case14_ieee", ledger)
    held = release("case14_ieee", ledger, correct_bias=True)
    held.save(tmp_path / "out")
    checked = verify(tmp_path / "out")
    assert checked.ok
    (found,) = (one for one in checked.claims if one.name == "correction of the bias")
    assert found.verdict is ClaimVerdict.STATED
    totals = [one.to_frame()["p_mw"].sum() for one in (held, free)]
    # By a hundredth, but where the network does not take one of them as it is.
    assert 0.985 * totals[1] < totals[0] < totals[1]
    assert held.certificate.fidelity.cost_target == free.certificate.fidelity.cost_target


def test_other_post_processing_draws_and_charges_nothing(ledger):
    first = release("case14_ieee", ledger, epsilon=1)
    spent = [account.spent for account in Ledger(ledger).accounts()]
    for more in ({"correct_bias": True}, {"consumers": BUSES[:4]}, EVERYTHING):
        plan = plan_release("case14_ieee", epsilon=1, ledger=ledger, **more)
        assert plan.release_id == first.certificate.release_id
        assert plan.charge.is_drawn
        assert plan.charge.epsilon == 0
        again = plan.run(ledger)
        assert (again.noisy.p == first.noisy.p).all()
        assert (again.noisy.q == first.noisy.q).all()
        assert again.certificate.protection == first.certificate.protection
        assert again.certificate.ledgers == first.certificate.ledgers
        assert again.certificate.drawn_at == first.certificate.drawn_at
    assert [account.spent for account in Ledger(ledger).accounts()] == spent


def test_a_plan_says_what_is_done_and_declared_and_warns(ledger):
    plan = plan_release("case14_ieee", ledger=ledger, **EVERYTHING)
    shown = repr(plan)
    for part in (
        "corrected for the known bias",
        "never negative",
        "that 11 loads never feed power back: bus 2",
        "that their power factor is 0.9 or more",
        "--consumers declares in public that these loads never feed power back, at a power factor",
    ):
        assert part in shown
    assert len(plan.figures()["post_processing"]) == 4
    without = plan_release("case14_ieee", ledger=ledger)
    assert without.figures()["post_processing"] == []
    assert "consumers" not in repr(without).replace("consumers modelled", "")
    assert not ledger.exists()


def test_a_plan_does_not_look_at_loads(ledger):
    """Whether a declared consumer feeds power back does not show in its plan."""
    other = NETWORK.with_loads(-NETWORK.loads.p, 5 * NETWORK.loads.q)
    plans = [plan_release(network, ledger=ledger, **EVERYTHING) for network in (NETWORK, other)]
    assert repr(plans[0]) == repr(plans[1])
    assert plans[0].draft().to_bytes() == plans[1].draft().to_bytes()


class NoLimits(Central):
    """A method that knows nothing of limits, and looks for loads with Q = P."""

    name = "no-limits"

    def solve(self, problem):
        return super().solve(replace(problem, limits=None, noisy=problem.noisy[:, [0, 0]]))


def test_a_method_that_breaks_the_limits_makes_no_release(ledger):
    with pytest.raises(GridveilError, match="'no-limits' does not keep the limits of consumers"):
        release("case14_ieee", ledger, **WIDE, method=NoLimits(), consumers="all", power_factor=0.9)
    assert release("case14_ieee", ledger, **WIDE, consumers="all", power_factor=0.9)


def test_agents_on_their_own_keep_the_limits_too(ledger):
    """Without the central last step, where they reach 1e-6 p.u. by themselves or say so."""
    patient = AgentOptions(tolerance=1e-9, max_iterations=100_000, polish=False)
    choices = {**WIDE, "consumers": "all", "power_factor": 0.9}
    held = release("case5_pjm", ledger, **choices, method="admm", agents=patient)
    assert (held.published.network.loads.p >= 0).all()


def test_a_certificate_without_post_processing_is_the_one_of_before(ledger):
    plain = release("case5_pjm", ledger, beta="0.05").certificate
    text = plain.to_bytes()
    assert b"post_processing" not in text
    assert read_certificate(text).certificate == plain
    with pytest.raises(GridveilError, match="something was added"):
        read_certificate(text.replace(b'  "ledgers"', b'  "post_processing": null,\n  "ledgers"'))


@pytest.mark.parametrize(
    "changed",
    [
        {"consumers": [], "power_factor": None},
        {"consumers": [], "bias_corrected": True},
        {"power_factor": 1.0},
        {"sentences": []},
        {"extra": 1},
    ],
)
def test_a_part_that_does_not_fit_together_is_not_read(ledger, changed):
    plan = plan_release("case14_ieee", ledger=ledger, consumers="all", power_factor="0.9")
    content = plan.draft().model_dump(mode="json")
    content["post_processing"] |= changed
    with pytest.raises(ValueError, match="post_processing"):
        Certificate.model_validate(content)
