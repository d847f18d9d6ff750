"""Plans a release, then runs it: everything is decided and checked before anything is spent.

`plan_release` decides: mechanism, method, costs, what is charged, the id, and the promise as it
will stand in the certificate. A draft of the whole certificate is validated with the plan, so that
what cannot be certified is never charged. `ReleasePlan.run` draws, restores and certifies.

Of `run`, only the first step sees the raw loads. All that follows gets a blank network.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.options import AgentOptions
from gridveil.defaults import ALPHA, BAND, BETA, CALIBRATION, EPSILON, MECHANISM, METHOD
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem
from gridveil.fidelity.phase import check_choices, check_costs, fidelity_problems, solve
from gridveil.fidelity.registry import band_kind, make_method
from gridveil.fidelity.result import Restored
from gridveil.html_table import html_table
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.opf.status import Status
from gridveil.privacy.bounds import PublicBounds, as_bounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger import Entry, Ledger, Spending, existing_ledger, network_id
from gridveil.privacy.mechanisms.base import Mechanism, check_mechanism
from gridveil.privacy.mechanisms.clamp import Clamped, clamped
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.mechanisms.registry import MECHANISMS, make_mechanism
from gridveil.privacy.phase import (
    NoisyLoads,
    Origin,
    no_loads,
    owner_of,
    privatise,
    sound_guarantee,
    spending,
)
from gridveil.privacy.total import privatise_total, total_id
from gridveil.publication.case_file import blank
from gridveil.publication.costs import (
    DERIVED_SOURCE,
    CostsLike,
    Provenance,
    PublicCosts,
    bought_costs,
    bought_source,
    derived_costs,
    given_costs,
)
from gridveil.publication.make import Basis, Notify, Release, certify, draft

_NOISE_DRAWS = 100_000
_KNOWN_COSTS = "costs, cost budget: known costs need not be bought; drop one of both"


class ReleaseChoices(TypedDict, total=False):
    """The choices of `plan_release` and `release`; see `plan_release` for each."""

    epsilon: Number | None
    alpha: Number | None
    beta: Number
    mechanism: Mechanism | str
    calibration: str
    bounds: PublicBounds | str | Path | None
    accept_unsound: bool
    method: FidelityMethod | str
    band: BandKind | str
    agents: AgentOptions | None
    costs: CostsLike | None
    costs_source: str
    cost_budget: Number | None
    release_id: str | None


@dataclass(frozen=True)
class Charge:
    """What a release takes of the budget of every load."""

    epsilon: Fraction
    """Charged to each load, at the distance its ledger counts at; 0 if it was drawn before."""
    least_left: Fraction
    """What then remains, at least, for any of them."""
    is_drawn: bool
    """Whether the noise was drawn under this id before, so that nothing is charged."""


@dataclass(frozen=True)
class NoiseSize:
    """How large the noise of a load is, by its own law."""

    median_mva: float
    ninety_percent_mva: float
    p_standard_deviation_mw: float


@dataclass(frozen=True, eq=False, repr=False)
class ReleasePlan:
    """A release that is decided and checked; nothing of it is drawn or spent."""

    network: Network
    mechanism: Mechanism
    method: FidelityMethod
    band: BandKind
    beta: float
    release_id: str
    costs: PublicCosts | None
    """Published costs O*; None where they are computed when the plan runs."""
    cost_budget: Fraction | None
    """The part of ε that buys them, if they are bought."""
    accept_unsound: bool
    charge: Charge

    @property
    def provenance(self) -> Provenance:
        """Where the public costs O* come from."""
        if self.costs is not None:
            return self.costs.provenance
        return Provenance.DERIVED if self.cost_budget is None else Provenance.BOUGHT

    @property
    def promise(self) -> Guarantee:
        """What the release promises of each load, what the costs take of ε included."""
        guarantee = self.mechanism.guarantee()
        total = exact(guarantee.epsilon, "epsilon") + (self.cost_budget or 0)
        return replace(guarantee, epsilon=float(total))

    @cached_property
    def noise(self) -> NoiseSize | None:
        """How large the noise will be, from public numbers alone; None if nothing says so."""
        if self.mechanism.guarantee().scale is None:
            return None
        inner = self.mechanism.mechanism if isinstance(self.mechanism, Clamped) else self.mechanism
        count = len(self.network.loads)
        zeros = np.zeros((count * (_NOISE_DRAWS // count + 1), 2))
        try:
            noise = inner.simulate(zeros, np.random.default_rng(0)) * self.network.base_mva
            size = np.hypot(*noise.T)
        except Exception:  # the code of another package; a release does without it
            return None
        return NoiseSize(
            float(np.median(size)), float(np.quantile(size, 0.9)), float(noise[:, 0].std())
        )

    def run(
        self,
        ledger: Ledger | str | Path | None = None,
        *,
        key: Ed25519PrivateKey | None = None,
        notify: Notify = lambda _: None,
    ) -> Release:
        """Draw the private loads, restore them, certify the result.

        The budget is charged when the loads are drawn. Whatever fails afterwards can be tried again
        under the same id, also with another beta or method, at no further cost.

        Args:
            ledger: Holds the budgets; a path, or None for the user's own.
            key: Signs the certificate.
            notify: Called with the name of each phase.
        """
        if key is not None and not isinstance(key, Ed25519PrivateKey):
            raise GridveilError(f"key: an Ed25519PrivateKey expected, not {type(key).__name__}")
        public = self.costs
        if public is None and self.cost_budget is None:
            notify("public costs")
            public = derived_costs(self.network)
        self.draft(public)
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        notify("privacy phase")
        if self.cost_budget is not None and not book.knows(self.release_id):
            book.check(self._spending())
        noisy = privatise(
            self.network,
            self.mechanism,
            book,
            self.release_id,
            accept_unsound=self.accept_unsound,
            conditions=_conditions(public),
        )
        noisy.require_private()
        blank_network = blank(self.network)
        if public is None:
            public, entry = self._buy_costs(blank_network, noisy, book, notify)
        else:
            entry = book.entry(self.release_id)
        notify("fidelity phase")
        (problem,) = fidelity_problems(
            blank_network, [noisy], public.values, self.beta, self.method, self.band
        )
        return self._certified(problem, noisy, self._basis(public, entry), key, notify)

    def draft(self, costs: PublicCosts | None = None) -> None:
        """Refuse what does not fit together or could not be certified.

        Every check of a plan is here. They are made with the plan, and once more when it runs: by
        then the costs are known, and the plan may have been changed.
        """
        _check_id(self.release_id)
        sound_guarantee(self.mechanism, self.accept_unsound)
        _known(self.mechanism)
        check_choices(self.method, self.beta, self.band)
        if self.cost_budget is not None:
            if self.costs is not None:
                raise GridveilError(_KNOWN_COSTS)
            ProductLaplace.of(self.cost_budget, _bought_distance(self.mechanism))
        if costs is not None:
            check_costs(self.network, costs.values, self.beta, self.band)
        else:
            nothing = np.zeros(len(self.network.generators))
            source = DERIVED_SOURCE
            if self.cost_budget is not None:
                source = bought_source(self.cost_budget)
            costs = PublicCosts(nothing, self.provenance, source)
        entry = Entry("", self.charge.epsilon, Fraction(self.promise.epsilon), None)
        draft(self.network, self._basis(costs, entry))

    def figures(self) -> dict[str, Any]:
        """Return the plan as plain numbers and texts, for JSON."""
        noise = self.noise
        return {
            "network": self.network.name,
            "release_id": self.release_id,
            "loads": len(self.network.loads),
            "mechanism": self.mechanism.name,
            "epsilon": self.promise.epsilon,
            "charge": float(self.charge.epsilon),
            "least_left": float(self.charge.least_left),
            "is_drawn": self.charge.is_drawn,
            "promise": self.promise.sentence(self.network.base_mva),
            "noise_median_mva": None if noise is None else noise.median_mva,
            "noise_90_percent_mva": None if noise is None else noise.ninety_percent_mva,
            "noise_p_standard_deviation_mw": None
            if noise is None
            else noise.p_standard_deviation_mw,
            "method": self.method.name,
            "band": self.band.value,
            "beta": self.beta,
            "costs": self.provenance.value,
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        title, *lines = self._lines()
        return html_table(title, ("",), [(line,) for line in lines])

    def _lines(self) -> Iterator[str]:
        network, loads = self.network, len(self.network.loads)
        yield (
            f"plan of a release of {network.name}, release id {self.release_id}: nothing is drawn, "
            "nothing is spent"
        )
        yield self.promise.sentence(network.base_mva)
        if self.charge.is_drawn:
            yield "the noise was drawn under this id before: nothing would be charged again"
        else:
            yield (
                f"each of {loads} loads would be charged ε = {float(self.charge.epsilon):g}; at "
                f"least {float(self.charge.least_left):g} then remains for each"
            )
        if self.noise is not None:
            yield (
                f"half of the loads would move by less than {self.noise.median_mva:.1f} MVA, nine "
                f"out of ten by less than {self.noise.ninety_percent_mva:.1f} MVA; P alone has a "
                f"standard deviation of {self.noise.p_standard_deviation_mw:.1f} MW"
            )
        yield {
            Provenance.PUBLISHED: "the costs O* were published",
            Provenance.DERIVED: "the costs O* are computed from the raw loads and not protected",
            Provenance.BOUGHT: "the costs O* are computed from private loads and a private total "
            f"load, for ε = {float(self.cost_budget or 0):g} of this release",
        }[self.provenance]
        yield f"fidelity by {self.method.name}: {self.method.promise(self.beta, self.band)}"

    def _spending(self) -> Spending:
        promise = self.promise
        return spending(owner_of(self.network), promise.epsilon, promise.distance)

    def _basis(self, costs: PublicCosts, entry: Entry) -> Basis:
        return Basis(
            release_id=self.release_id,
            guarantee=self.mechanism.guarantee(),
            parameters=self.mechanism.specification(),
            origin=Origin.EXACT,
            epsilon_costs=float(self.cost_budget or 0),
            entry=entry,
            costs=costs,
            beta=self.beta,
            band=self.band,
            method=type(self.method),
        )

    def _buy_costs(
        self, blank_network: Network, noisy: NoisyLoads, ledger: Ledger, notify: Notify
    ) -> tuple[PublicCosts, Entry]:
        assert self.cost_budget is not None
        alpha = _bought_distance(self.mechanism)
        total = privatise_total(self.network, self.cost_budget, alpha, ledger, self.release_id)
        notify("public costs")
        return bought_costs(blank_network, noisy, total), ledger.entry(total_id(self.release_id))

    def _solved(self, problem: FidelityProblem) -> Restored:
        """Let the method solve the problem, of which nothing is raw."""
        try:
            found = solve(self.method, problem)
            if not isinstance(found.status, Status):
                raise TypeError("its status is not a gridveil.Status")
            return found
        except GridveilError:
            raise
        except Exception as error:  # whatever the code of another package raises
            raise GridveilError(
                f"method {self.method.name!r} failed: {type(error).__name__}: {error}. The private "
                f"loads are kept under release id {self.release_id!r}: try again with another "
                "method, at no further cost"
            ) from error

    def _certified(
        self,
        problem: FidelityProblem,
        noisy: NoisyLoads,
        basis: Basis,
        key: Ed25519PrivateKey | None,
        notify: Notify,
    ) -> Release:
        restored = self._solved(problem)
        history = None if restored.agents is None else restored.agents.history
        made = certify(problem.network, basis, restored, history, key, notify)
        return replace(made, noisy=noisy)


def plan_release(
    network: Network | str | Path,
    *,
    epsilon: Number | None = None,
    alpha: Number | None = None,
    beta: Number = BETA,
    mechanism: Mechanism | str = MECHANISM,
    calibration: str = CALIBRATION,
    bounds: PublicBounds | str | Path | None = None,
    accept_unsound: bool = False,
    method: FidelityMethod | str = METHOD,
    band: BandKind | str = BAND,
    agents: AgentOptions | None = None,
    costs: CostsLike | None = None,
    costs_source: str = "",
    cost_budget: Number | None = None,
    release_id: str | None = None,
    ledger: Ledger | str | Path | None = None,
) -> ReleasePlan:
    """Decide and check everything about a release; nothing is drawn or spent.

    Args:
        network: The network, or its name or path.
        epsilon: The budget ε of the release (1 if not said); what buys costs is a part of it.
        alpha: The distance α of loads that are hard to tell apart, in p.u. (0.1 if not said).
        beta: How far costs may be off O*, relatively.
        mechanism: A name of the registry, or a mechanism, which has its own ε and α.
        calibration: Of a mechanism by name that has several.
        bounds: Public bounds of the loads: for a mechanism that needs them, or to clamp to.
        accept_unsound: Use a mechanism whose promise has a caution; refused otherwise.
        method: How the fidelity phase is solved: a name of the registry, or a method.
        band: Whose cost stays within beta: of every "generator", or "total".
        agents: How agents run, for a method that has agents. A release ends with a central last
            step (`polish`) unless they say otherwise.
        costs: The public costs O*: an array in $/h, a CSV file, or `PublicCosts`. Without them
            they are computed from the raw loads, and the certificate says so.
        costs_source: Where such costs were published.
        cost_budget: The part of ε that buys a private total load to compute the costs from.
        release_id: Name of the draw; the same id never draws or charges again. Without one it is
            made of the network and the parameters.
        ledger: Where budgets are looked up; None for the user's own ledger.

    Raises:
        GridveilError: Something does not fit together, or could not be certified.
        BudgetExceededError: The loads have too little budget left.

    Example:
        >>> from gridveil import plan_release
        >>> from tempfile import mkdtemp
        >>> plan = plan_release("case5_pjm", epsilon=1, ledger=mkdtemp() + "/ledger.sqlite")
        >>> float(plan.charge.epsilon), plan.method.name
        (1.0, 'bilevel')
    """
    network = as_network(network)
    if not len(network.loads):
        raise no_loads(network)
    budget = None if cost_budget is None else _checked_budget(cost_budget)
    if costs is not None and budget is not None:
        raise GridveilError(_KNOWN_COSTS)
    public = given_costs(costs, costs_source, network)
    chosen = _mechanism(network, mechanism, epsilon, alpha, calibration, bounds, budget)
    solver = make_method(method, agents).for_release()
    share = float(exact(beta, "beta"))
    if release_id is None:
        release_id = default_id(network, chosen, public, cost_budget)
    nothing = Charge(Fraction(0), Fraction(0), is_drawn=False)
    plan = ReleasePlan(
        network,
        chosen,
        solver,
        band_kind(band),
        share,
        release_id,
        public,
        budget,
        accept_unsound,
        nothing,
    )
    plan.draft(public)
    return replace(plan, charge=_charge(plan, ledger))


def release(
    network: Network | str | Path,
    ledger: Ledger | str | Path | None = None,
    *,
    key: Ed25519PrivateKey | None = None,
    notify: Notify = lambda _: None,
    **choices: Unpack[ReleaseChoices],
) -> Release:
    """Plan a release and run the plan: a private, certified network that can be published.

    Args:
        network: The network, or its name or path.
        ledger: Holds the budgets; a path, or None for the user's own.
        key: Signs the certificate.
        notify: Called with the name of each phase.
        **choices: Those of `plan_release`: epsilon, alpha, beta, mechanism, method, costs, …

    Example:
        >>> from gridveil import release
        >>> from tempfile import mkdtemp
        >>> made = release("case5_pjm", mkdtemp() + "/ledger.sqlite", epsilon=1, beta=0.05)
        >>> sorted(made.files)
        ['certificate.json', 'loads.csv', 'network.m', 'report.html']
    """
    plan = plan_release(network, ledger=ledger, **choices)
    return plan.run(ledger, key=key, notify=notify)


def default_id(
    network: Network,
    mechanism: Mechanism,
    costs: PublicCosts | None,
    cost_budget: Number | None,
) -> str:
    """Return the id of a release without one: the same network and parameters draw once."""
    source = "published" if costs is not None else "derived" if cost_budget is None else cost_budget
    text = f"{network_id(network)} {mechanism.specification()} {source}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{network.name}-{digest}"


def _mechanism(
    network: Network,
    mechanism: Mechanism | str,
    epsilon: Number | None,
    alpha: Number | None,
    calibration: str,
    bounds: PublicBounds | str | Path | None,
    cost_budget: Fraction | None,
) -> Mechanism:
    """Return the mechanism of the loads; what buys costs is taken off ε."""
    limits = as_bounds(bounds, network)
    if not isinstance(mechanism, str):
        check_mechanism(mechanism)
        _check_own_parameters(epsilon, alpha, calibration, limits, cost_budget)
        return _known(mechanism)
    for_loads = exact(EPSILON if epsilon is None else epsilon, "epsilon")
    if cost_budget is not None:
        if cost_budget >= for_loads:
            raise GridveilError(
                f"cost budget: {float(cost_budget):g} must be below ε = {float(for_loads):g}, of "
                "which it is a part"
            )
        for_loads -= cost_budget
    made = make_mechanism(
        mechanism,
        for_loads,
        ALPHA if alpha is None else alpha,
        calibration=calibration,
        bounds=limits,
    )
    return clamped(made, limits)


def _check_own_parameters(
    epsilon: Number | None,
    alpha: Number | None,
    calibration: str,
    bounds: PublicBounds | None,
    cost_budget: Fraction | None,
) -> None:
    """Refuse parameters beside a mechanism that is an object and has its own."""
    if epsilon is not None or alpha is not None or calibration != CALIBRATION:
        raise GridveilError(
            "epsilon, alpha, calibration: a mechanism given as an object has its own"
        )
    if bounds is not None:
        raise GridveilError("bounds: clamp a mechanism given as an object with gridveil.Clamped")
    if cost_budget is not None:
        raise GridveilError(
            "cost budget: it is a part of ε; give the mechanism by name, with the whole ε"
        )


def _known(mechanism: Mechanism) -> Mechanism:
    """Refuse a mechanism that bears the name of another one of the registry."""
    inner = mechanism.mechanism if isinstance(mechanism, Clamped) else mechanism
    if inner.name in MECHANISMS and not isinstance(inner, MECHANISMS.get(inner.name)):
        raise GridveilError(
            f"mechanism {inner.name!r}: another mechanism is registered under this name"
        )
    return mechanism


def _checked_budget(cost_budget: Number) -> Fraction:
    budget = exact(cost_budget, "cost budget")
    if budget <= 0:
        raise GridveilError(f"cost budget: {cost_budget} must be above 0")
    return budget


def _bought_distance(mechanism: Mechanism) -> float:
    alpha = mechanism.guarantee().distance
    if alpha is None:
        raise GridveilError(
            "costs can be bought with a Laplace mechanism only, which has a distance"
        )
    return alpha


def _check_id(release_id: object) -> None:
    if not isinstance(release_id, str):
        raise GridveilError(f"release id: a text expected, not {type(release_id).__name__}")
    if not release_id.strip():
        raise GridveilError("a release needs an id")
    if not release_id.isprintable():
        raise GridveilError("a release id must be printable text")
    if release_id.endswith(total_id("")):
        raise GridveilError(f"release id: {release_id!r} is kept for totals; choose another")


def _charge(plan: ReleasePlan, ledger: Ledger | str | Path | None) -> Charge:
    """Return what a plan would charge, or refuse what the loads cannot pay for."""
    if isinstance(ledger, Ledger):
        return _charge_of(plan, ledger)
    with existing_ledger(ledger) as book:
        return _charge_of(plan, book)


def _charge_of(plan: ReleasePlan, ledger: Ledger) -> Charge:
    asked = plan._spending()
    if ledger.knows(plan.release_id):
        return Charge(Fraction(0), ledger.least_left(asked), is_drawn=True)
    charge = ledger.check(asked)
    return Charge(charge, ledger.least_left(asked) - charge, is_drawn=False)


def _conditions(costs: PublicCosts | None) -> dict[str, str]:
    """Return what a draw stands for beside its noise: costs from raw loads are those of one day.

    Without this, changed loads under an old id would give away new costs, again and again.
    """
    digest = "" if costs is None else costs.derived_digest()
    return {"costs_derived": digest} if digest else {}
