"""Plans a release, then runs it: everything is decided and checked before anything is spent.

`plan_release` decides: mechanism, method, costs, what is charged, the id, and the promise as it
will stand in the certificate. A draft of the whole certificate is validated with the plan, so that
what cannot be certified is never charged. `ReleasePlan.run` draws, restores and certifies.

Of `run`, the draws alone see the raw loads; all that follows gets a blank network. In the end the
finished files are scanned for raw loads (scan.py), as a guard against mistakes of our own.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.options import AgentOptions
from gridveil.defaults import BETA, CALIBRATION, EPSILON
from gridveil.device import Device
from gridveil.errors import GridveilError, NotSolvedError
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem
from gridveil.fidelity.phase import check_choices, check_has_costs, check_target, solve
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.result import Restored
from gridveil.html_table import html_table
from gridveil.network.components import LoadList
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.opf.devices import check_device, cpu_steps_in
from gridveil.opf.record import recorded_solves
from gridveil.opf.solvers import Solver, using
from gridveil.opf.status import Status
from gridveil.privacy.bounds import PublicBounds, as_bounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.hide import Hide
from gridveil.privacy.ledger.ledger import Ledger, existing_ledger
from gridveil.privacy.ledger.owner import owner_of, register_choice
from gridveil.privacy.ledger.records import Entry, RegisterChoice, Spending
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.phase import (
    NoisyLoads,
    Origin,
    no_loads,
    privatise,
    sound_guarantee,
    spending_of,
)
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.total import NoisyTotal, privatise_total, total_id
from gridveil.publication.case_file import blank
from gridveil.publication.certificate import Certificate
from gridveil.publication.charge import Charge, charge_of_plan, ledger_warnings
from gridveil.publication.choices import (
    PRIVATE_COSTS_ONLY,
    check_release_id,
    checked_name,
    cost_budget_of,
    declared_ratings,
    default_id,
    mechanism_maker,
    total_distance,
)
from gridveil.publication.cost_share import CostShare
from gridveil.publication.costs import CostsLike
from gridveil.publication.dispatch import DispatchLike
from gridveil.publication.explained import explained, model_numbers, without_ratings
from gridveil.publication.forecast.forecast import (
    DRAWS,
    Forecast,
    LoadsFrom,
    basis_of,
    forecast_of,
)
from gridveil.publication.forecast.trials import Basis as ForecastBasis
from gridveil.publication.idle import IdleChoice, idle_sentence, listing_idle
from gridveil.publication.kept import kept_kinds, kept_text, kept_warnings
from gridveil.publication.make import Basis, Notify, Release, certify, draft
from gridveil.publication.post_processing import (
    NO_POST_PROCESSING,
    ConsumersLike,
    PostProcessing,
    make_post_processing,
)
from gridveil.publication.public_parts import public_parts
from gridveil.publication.scan.declared import refuse_declared
from gridveil.publication.scan.scan import refuse_matches
from gridveil.publication.statements import (
    is_private_as_a_whole,
    post_processing_sentences,
    ratings_source,
    target_name,
    whole_statement,
)
from gridveil.publication.steps import Steps
from gridveil.publication.target_choice import (
    check_fits_band,
    choose_target,
    derived_target,
    unknown_target,
)
from gridveil.publication.target_words import held_to_nothing, target_sentences
from gridveil.publication.targets import Provenance, Target

_NOISE_DRAWS = 100_000
_WELL_ABOVE = 1000.0
"""In floors: a load of which a relative change is one in per cent."""


class ReleaseChoices(TypedDict, total=False):
    """The choices of `plan_release` and `release`; see `plan_release` for each."""

    epsilon: Number | None
    hide: Hide | str | None
    floor: Number | None
    ratings: PublicRatings | str | Path | None
    ratings_source: str
    alpha: Number | None
    beta: Number
    mechanism: Mechanism | str | None
    calibration: str
    bounds: PublicBounds | str | Path | None
    accept_unsound: bool
    method: FidelityMethod | str | None
    band: BandKind | str | None
    agents: AgentOptions | None
    costs: CostsLike | None
    costs_source: str
    dispatch: DispatchLike | None
    dispatch_source: str
    declare_public: Collection[str] | str
    cost_budget: Number | None
    keep: Collection[str] | str
    consumers: ConsumersLike | None
    power_factor: Number | None
    correct_bias: bool
    accept_matches: Collection[str]
    idle_loads: IdleChoice | str
    release_id: str | None
    register: str | None
    new_register: str | None


_DECLARATION = (
    "--consumers declares in public that these loads never feed power back{band}. Decide so from "
    "what is known of them anyway, not from their values: nothing checks it, and a load that does "
    "otherwise, by solar power behind the meter say, is released wrong"
)


@dataclass(frozen=True)
class NoiseSize:
    """How large the noise of a load is, by its own law."""

    median: float
    ninety_percent: float
    p_standard_deviation: float
    unit: str
    """MVA, or per cent of what."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleasePlan:
    """A release that is decided and checked; nothing of it is drawn or spent."""

    network: Network
    mechanism: Mechanism
    method: FidelityMethod
    band: BandKind
    beta: float
    release_id: str
    provenance: Provenance
    """Where the costs O* or the dispatch p* come from; private where the band has neither."""
    target: Target | None
    """Known costs O* or a known dispatch p*; None where they are computed when the plan runs."""
    cost_budget: Fraction
    """The part of ε that buys a private total load to compute them from; 0 buys none."""
    shares: tuple[CostShare, ...]
    """What other parts of ε would give; empty where there was nothing to choose."""
    keep: tuple[str, ...]
    """What of the source file is published as it stands."""
    accept_matches: tuple[str, ...]
    """Matches of the last scan that the owner accepts as coincidences, by name."""
    accept_unsound: bool
    register: RegisterChoice | None
    """Which register of the ledger the owner says the loads belong to."""
    charge: Charge
    post_processing: PostProcessing = NO_POST_PROCESSING
    """What is done to the private loads before anything is computed from them."""

    @property
    def promise(self) -> Guarantee:
        """What the release promises of each load, what the costs take of ε included."""
        guarantee = self.mechanism.guarantee()
        total = exact(guarantee.epsilon, "epsilon") + self.cost_budget
        return replace(guarantee, epsilon=float(total))

    @property
    def statement(self) -> str:
        """Whether the folder will be private as a whole, in words."""
        name = target_name(self.band.value)
        return whole_statement(self.provenance, self.keep, self.promise.epsilon, name)

    @property
    def public(self) -> tuple[str, ...]:
        """What will be published as it is, and is not protected."""
        ratings = ratings_source(self.mechanism.specification())
        return public_parts(
            self.network,
            self.provenance,
            self.keep,
            self.post_processing,
            ratings,
            target_name(self.band.value),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of it looks as if it spoke of loads, and what its ledger does not know."""
        kept = tuple(
            f"look before you publish: {w}" for w in kept_warnings(self.network.case, self.keep)
        )
        wide = self.mechanism.guarantee().warning
        declared = self._declarations()
        free = held_to_nothing(self.network, self.band)
        return (*kept, *declared, *free, *((wide,) if wide else ()), *ledger_warnings(self.charge))

    def _declarations(self) -> Iterator[str]:
        """Warn of what the owner declares of consumers; whether it holds is not looked at."""
        if self.post_processing.limits is not None:
            factor = self.post_processing.power_factor
            band = "" if factor is None else f", at a power factor of {factor:g} or more"
            yield _DECLARATION.format(band=band)

    @cached_property
    def noise(self) -> NoiseSize | None:
        """How large the noise will be, from public numbers alone; None if nothing says so."""
        promise = self.mechanism.guarantee()
        if promise.distance is None:
            return None
        inner = self.mechanism.mechanism if isinstance(self.mechanism, Clamped) else self.mechanism
        count = len(self.network.listed_loads)
        loads = np.zeros((count * (_NOISE_DRAWS // count + 1), 2))
        unit, of = "MVA", np.full(count, 1 / self.network.base_mva)
        if promise.floor is not None:
            unit, of = "% of the load", np.full(count, _WELL_ABOVE * promise.floor / 100)
            loads[:, 0] = _WELL_ABOVE * promise.floor
        elif promise.distances is not None:
            of = np.array(promise.distances) / 100
            unit = "% of the distance of each load"
        try:
            noise = inner.simulate(loads, np.random.default_rng(0)) - loads
            noise = noise / np.resize(of, len(loads))[:, None]
            size = np.hypot(*noise.T)
        except Exception:  # the code of another package; a release does without it
            return None
        return NoiseSize(
            float(np.median(size)), float(np.quantile(size, 0.9)), float(noise[:, 0].std()), unit
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
        check_device()
        target = self.target
        with recorded_solves() as derived:
            if self.provenance is Provenance.DERIVED and target is None:
                notify(f"{'costs' if self.band.on_costs else 'dispatch'} of the raw loads")
                target = derived_target(self.network, self.band).for_beta(self.beta, self.network)
        drafted = self.draft(target)
        self.refuse_declared()
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        notify("privacy phase")
        if self.cost_budget and not book.knows(self.release_id):
            book.check(self.spending())
        noisy = privatise(
            self.network,
            self.mechanism,
            book,
            self.release_id,
            accept_unsound=self.accept_unsound,
            conditions=_conditions(target),
            register=self.register,
        )
        noisy.require_private()
        total = self._bought_total(book)
        entry = self._entry(book)
        private, idle = self._in_service(noisy), self._idle(noisy)
        fitted = private if total is None else self._fitted(private, total)
        basis = replace(self._basis(target, entry, idle), target_solvers=derived.solvers)
        with cpu_steps_in():  # whatever a GPU does, what was drawn is not lost
            made = self._made(blank(self.network, self.keep), fitted, basis, key, notify)
        kept = kept_text(self.network.case, self.keep)
        known = explained(self.network, made, noisy, total, (without_ratings(drafted),), idle, kept)
        refuse_matches(made.files, self.network, known, self.accept_matches)
        return replace(made, noisy=noisy)

    def left_behind(self, ledger: Ledger | str | Path | None = None) -> str:
        """Say what of this plan is drawn and charged by now, for a run that was cut off.

        Args:
            ledger: As for `run`.
        """
        if self.charge.is_drawn:
            return f"nothing was charged; release id {self.release_id!r} was drawn before"
        with existing_ledger(ledger) as book:
            is_drawn = book.knows(self.release_id)
            is_whole = not self.cost_budget or book.knows(total_id(self.release_id))
        if not is_drawn:
            return "nothing was drawn or charged"
        then = "without a new charge" if is_whole else "which charges the rest, the total load"
        return (
            f"release id {self.release_id!r} was drawn and charged; run the same command again to "
            f"finish it {then}"
        )

    @property
    def _kept(self) -> str:
        return (
            f"The private loads are kept under release id {self.release_id!r}: try again with "
            "another beta or method, at no further cost"
        )

    def draft(self, target: Target | None = None) -> Certificate:
        """Refuse what does not fit together or could not be certified.

        Every check of a plan is here and in `refuse_declared`. They are made with the plan, and
        once more when it runs: by then the target is known, and the plan may have been changed.
        """
        check_release_id(self.release_id)
        sound_guarantee(self.mechanism, self.accept_unsound)
        checked_name(self.mechanism)
        check_choices(self.method, self.beta, self.band)
        if self.cost_budget:
            if self.provenance is not Provenance.PRIVATE:
                raise GridveilError(PRIVATE_COSTS_ONLY)
            ProductLaplace.of(self.cost_budget, total_distance(self.mechanism))
        check_has_costs(self.network, self.band)
        if target is not None:
            check_fits_band(target, self.band)
            values = target.for_fidelity(self.network.base_mva)
            check_target(self.network, values, self.beta, self.band)
        elif self.band is not BandKind.NONE:
            target = unknown_target(self.network, self.band, self.provenance, self.cost_budget)
        entry = Entry("", self.charge.epsilon, Fraction(self.promise.epsilon), None)
        nothing = np.zeros(len(self.network.listed_loads))
        guarantee = self.mechanism.guarantee()
        idle = self._idle(NoisyLoads(nothing, nothing, guarantee, Origin.SIMULATION, None))
        return draft(self.network, self._basis(target, entry, idle))

    def refuse_declared(self) -> None:
        """Refuse raw loads in what the owner declares public.

        Ratings belong to the draw: they were compared with the loads that it was made from.
        """
        kept = kept_text(self.network.case, self.keep)
        ratings = None if self.charge.is_drawn else declared_ratings(self.mechanism)
        written = () if ratings is None else ratings.texts()
        model = tuple(model_numbers(self.network))
        refuse_declared(self.network, model, kept, written, self.accept_matches)

    def steps(self, target: Target | None = None) -> Steps:
        """Return its steps from private loads on; a target that is None is private."""
        return Steps(
            self.mechanism.of_first(len(self.network.loads)),
            self.method,
            self.band,
            self.beta,
            target,
            self.cost_budget,
            self.post_processing,
        )

    def forecast(
        self, loads_from: LoadsFrom = LoadsFrom.OWN, draws: int = DRAWS, seed: int = 1
    ) -> Forecast:
        """Simulate releases by this plan: nothing is drawn or spent, and nothing is private.

        `gridveil.plan` shows such forecasts in words, beside those of other settings.

        Args:
            loads_from: Simulate with the raw loads, or with loads made up from public numbers.
            draws: How many releases are simulated; 0 gives figures of the noise alone.
            seed: Of the noise and of made-up loads.

        Example:
            >>> from gridveil import plan_release
            >>> from tempfile import mkdtemp
            >>> plan = plan_release("case5_pjm", ledger=mkdtemp() + "/ledger.sqlite")
            >>> round(plan.forecast(draws=0).noise.median_relative.median, 1)
            0.1
        """
        basis = basis_of(self.network, self.steps().mechanism, loads_from, seed, bool(draws))
        return self.simulated(basis, draws, seed)

    def simulated(
        self,
        basis: ForecastBasis,
        draws: int,
        seed: int,
        progress: Callable[[], None] = lambda: None,
    ) -> Forecast:
        """Return a forecast from a basis that several settings share; see `forecast_of`."""
        target = self.target
        if draws and self.provenance is Provenance.DERIVED:
            network = basis.network.with_loads(*basis.loads.T)
            target = derived_target(network, self.band).for_beta(self.beta, network)
        return forecast_of(self.steps(target), basis, draws, seed, progress)

    def figures(self) -> dict[str, Any]:
        """Return the plan as plain numbers and texts, for JSON."""
        noise = self.noise
        return {
            "network": self.network.name,
            "release_id": self.release_id,
            "loads": len(self.network.loads),
            "idle_loads": [list(place) for place in self.network.idle_loads.places],
            "idle_loads_released": self.network.lists_idle_loads,
            "mechanism": self.mechanism.name,
            "epsilon": self.promise.epsilon,
            "charge": float(self.charge.epsilon),
            "least_left": float(self.charge.least_left),
            "is_drawn": self.charge.is_drawn,
            "register": self.charge.register,
            "is_first": self.charge.is_first,
            "promise": self.promise.sentence(self.network.base_mva),
            "noise_unit": None if noise is None else noise.unit,
            "noise_median": None if noise is None else noise.median,
            "noise_90_percent": None if noise is None else noise.ninety_percent,
            "noise_p_standard_deviation": None if noise is None else noise.p_standard_deviation,
            "method": self.method.name,
            "band": self.band.value,
            "beta": self.beta,
            "costs": self.provenance.value if self.band.on_costs else None,
            "dispatch": self.provenance.value if self.band is BandKind.DISPATCH else None,
            "cost_budget": float(self.cost_budget),
            "cost_shares": [
                {
                    "share": float(one.share),
                    "load_noise_mw": one.load_noise * self.network.base_mva,
                    "total_error_mw": one.total_error * self.network.base_mva,
                }
                for one in self.shares
            ],
            "private_as_a_whole": is_private_as_a_whole(self.provenance, self.keep),
            "statement": self.statement,
            "post_processing": self._post_processing_sentences(),
            "public": list(self.public),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        title, *lines = self._lines()
        return html_table(title, ("",), [(line,) for line in lines])

    def _lines(self) -> Iterator[str]:
        network, loads = self.network, len(self.network.listed_loads)
        yield (
            f"plan of a release of {network.name}, release id {self.release_id}: nothing is drawn, "
            "nothing is spent"
        )
        yield self.statement
        yield self.promise.sentence(network.base_mva)
        if self.charge.is_drawn:
            yield "the noise was drawn under this id before: nothing would be charged again"
        else:
            yield (
                f"each of {loads} loads would be charged ε = {float(self.charge.epsilon):g}; at "
                f"least {float(self.charge.least_left):g} then remains for each, in the register "
                f"{self.charge.register!r} of the ledger"
            )
        if self.noise is not None:
            size, unit = self.noise, self.noise.unit
            yield (
                f"half of the loads would move by less than {size.median:.1f} {unit}, nine out of "
                f"ten by less than {size.ninety_percent:.1f}; P alone has a standard deviation of "
                f"{size.p_standard_deviation:.1f}"
            )
        yield from target_sentences(self)
        yield from self._post_processing_sentences()
        yield f"fidelity by {self.method.name}: {self.method.promise(self.beta, self.band)}"
        if len(network.idle_loads):
            yield idle_sentence(network)
        yield "published as it is, and not protected:"
        yield from (f"  - {part}" for part in self.public)
        yield from self.warnings

    def _post_processing_sentences(self) -> list[str]:
        done = self.post_processing
        loads, factor = len(self.network.loads), done.power_factor
        return post_processing_sentences(done.consumer_count, loads, factor, done.corrects_bias)

    def spending(self) -> Spending:
        """Return what is asked of the budget of each load."""
        owner = owner_of(self.network, self.register)
        return spending_of(owner, self.mechanism, further=self.cost_budget)

    def _entry(self, ledger: Ledger) -> Entry:
        """Return what the ledger knows of the last draw of this release."""
        entry = ledger.entry(self.release_id)
        if not self.cost_budget:
            return entry
        last = ledger.entry(total_id(self.release_id))
        seals = (replace(last.seals[0], is_first=entry.seals[0].is_first),)
        return replace(last, seals=seals)

    def _basis(self, target: Target | None, entry: Entry, idle: LoadList) -> Basis:
        return Basis(
            release_id=self.release_id,
            guarantee=self.mechanism.guarantee(),
            parameters=self.mechanism.specification(),
            origin=Origin.EXACT,
            epsilon_costs=float(self.cost_budget),
            entry=entry,
            target=target,
            beta=self.beta,
            band=self.band,
            method=type(self.method),
            kept=self.keep,
            post_processing=self.post_processing,
            idle=idle,
        )

    def _in_service(self, noisy: NoisyLoads) -> NoisyLoads:
        """Return the private loads that are in service: those that are restored."""
        count = len(self.network.loads)
        guarantee = self.mechanism.of_first(count).guarantee()
        return replace(noisy, p=noisy.p[:count], q=noisy.q[:count], guarantee=guarantee)

    def _idle(self, noisy: NoisyLoads) -> LoadList:
        """Return the private loads that are out of service, known by bus and number alone."""
        listed, count = self.network.listed_loads, len(self.network.loads)
        loads = np.stack([noisy.p, noisy.q], axis=1)
        if self.post_processing.corrects_bias:
            loads = self.mechanism.corrected(loads)
        return LoadList(listed.bus[count:], listed.number[count:], *loads[count:].T)

    def _bought_total(self, ledger: Ledger) -> NoisyTotal | None:
        if not self.cost_budget:
            return None
        alpha = total_distance(self.mechanism)
        return privatise_total(
            self.network, self.cost_budget, alpha, ledger, self.release_id, self.register
        )

    def _fitted(self, noisy: NoisyLoads, total: NoisyTotal) -> NoisyLoads:
        """Return private loads moved to the best estimate of their total."""
        loads, of_total = np.stack([noisy.p, noisy.q], axis=1), np.array([total.p, total.q])
        p, q = self.steps().fitted(loads, of_total, total.mechanism).T
        return replace(noisy, p=p, q=q)

    def _made(
        self,
        network: Network,
        private: NoisyLoads,
        basis: Basis,
        key: Ed25519PrivateKey | None,
        notify: Notify,
    ) -> Release:
        """Make the release of a blank network from its private loads; a basis may lack a target."""
        target = basis.target
        if target is None and self.band is not BandKind.NONE:
            notify(f"private {'costs' if self.band.on_costs else 'dispatch'}")
        try:
            with recorded_solves() as record:
                target, problems = self.steps(target).problems(network, private)
        except NotSolvedError as error:
            raise NotSolvedError(f"{error}. {self._kept}") from None
        solvers = (*basis.target_solvers, *record.solvers)
        basis = replace(basis, target=target, target_solvers=solvers)
        for i, problem in enumerate(problems):
            notify("fidelity phase" if not i else "fidelity phase, from loads that work")
            is_cut_off = False
            try:
                restored = self._solved(problem)
                history = None if restored.agents is None else restored.agents.history
                is_cut_off = restored.status is Status.STOPPED
                return certify(network, basis, restored, history, key, notify)
            except GridveilError:
                if is_cut_off or problem is problems[-1]:
                    raise
        raise AssertionError("there is a problem to solve")

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
            raise NotSolvedError(
                f"method {self.method.name!r} failed: {type(error).__name__}: {error}. {self._kept}"
            ) from error


def plan_release(
    network: Network | str | Path,
    *,
    epsilon: Number | None = None,
    hide: Hide | str | None = None,
    floor: Number | None = None,
    ratings: PublicRatings | str | Path | None = None,
    ratings_source: str = "",
    alpha: Number | None = None,
    beta: Number = BETA,
    mechanism: Mechanism | str | None = None,
    calibration: str = CALIBRATION,
    bounds: PublicBounds | str | Path | None = None,
    accept_unsound: bool = False,
    method: FidelityMethod | str | None = None,
    band: BandKind | str | None = None,
    agents: AgentOptions | None = None,
    costs: CostsLike | None = None,
    costs_source: str = "",
    dispatch: DispatchLike | None = None,
    dispatch_source: str = "",
    declare_public: Collection[str] | str = (),
    cost_budget: Number | None = None,
    keep: Collection[str] | str = (),
    consumers: ConsumersLike | None = None,
    power_factor: Number | None = None,
    correct_bias: bool = False,
    accept_matches: Collection[str] = (),
    idle_loads: IdleChoice | str = IdleChoice.LEAVE_OUT,
    release_id: str | None = None,
    register: str | None = None,
    new_register: str | None = None,
    ledger: Ledger | str | Path | None = None,
) -> ReleasePlan:
    """Decide and check everything about a release; nothing is drawn or spent.

    Args:
        network: The network, or its name or path.
        epsilon: The budget ε of the release (1 if not said); what buys costs is a part of it.
        hide: The change of a load that is hidden: "10%" of each load (if nothing is said),
            "5MVA", or "20%rating" of each load's public rating.
        floor: Where hide is in per cent of each load: the load, in MVA, below which per cent turn
            into a fixed amount. The size of loads decides, as public numbers tell it, if None.
        ratings: The public ratings of loads; a CSV file with the columns bus and rating_mva; or
            "sn_mva", that column of a pandapower net. Each of them is published.
        ratings_source: Where a file's or a column's ratings were published.
        alpha: The same as hide, as the paper says it: a distance α in p.u.
        beta: How far costs may be off O*, relatively, or outputs off p*, as a share of ranges.
        mechanism: A name of the registry, or a mechanism, which has its own ε and distance. None
            takes relative-laplace for per cent, and product-laplace for MVA, p.u. and ratings.
        calibration: Of a mechanism by name that has several.
        bounds: Public bounds of the loads: for a mechanism that needs them, or to clamp to.
        accept_unsound: Use a mechanism whose promise has a caution; refused otherwise.
        method: How the fidelity phase is solved: a name of the registry, or a method. None takes
            "bilevel" for a band on costs, and "central" for others.
        band: What stays within beta: the "cost" of every generator, their "total", or every output
            ("dispatch"); "none" promises nothing about the dispatch. None takes "cost", and
            "dispatch" for a network without costs.
        agents: How agents run, for a method that has agents. A release ends with a central last
            step (`polish`) unless they say otherwise.
        costs: The costs O*. None or "private" computes them from the private loads. Known costs
            are an array in $/h, a CSV file, or `PublicCosts`. "derived" computes them from the raw
            loads: nothing protects them, and the release says so. A CSV file of marginal costs by
            generator or fuel gives the network cost functions, as `with_marginal_costs` does.
        costs_source: Where known costs were published.
        dispatch: For the band "dispatch", the outputs p*, which None or "private" computes from the
            private loads. Known ones are an array in MW, a CSV file, or `PublicDispatch`;
            "derived" ones are computed from the raw loads, which the release says.
        dispatch_source: Where a known dispatch was published.
        declare_public: "costs" or "dispatch": the owner declares public what is derived.
        cost_budget: The part of ε that buys a private total load for private costs, or a private
            dispatch. None lets the plan choose, 0 buys none.
        keep: What of the source file is published as it stands: "names", "comments", "sections".
            Nothing of it is protected.
        consumers: The loads whose active power stays at 0 or more, by your public declaration:
            "all", the numbers of their buses, or a file with one to a line.
        power_factor: The lowest that consumers have, by your public declaration: 0.9, say.
        correct_bias: Correct the private loads for the bias of their mean, for a mechanism whose
            noise has one.
        accept_matches: Names of matches of the last scan that are coincidences.
        idle_loads: The loads that are out of service: "leave-out" leaves them out, "release" draws
            noise for them and charges them as all others; they stand in loads.csv alone.
        release_id: Name of the draw; the same id never draws or charges again. Without one it is
            made of the network and the parameters.
        register: The register of the ledger that has these loads; it is asked for where the
            network only looks like one that the ledger knows.
        new_register: The name of a new register: these are other loads than any it knows.
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
    network = listing_idle(as_network(network), idle_loads)
    if not len(network.loads):
        raise no_loads(network)
    chosen_target = choose_target(
        network, band, costs, costs_source, dispatch, dispatch_source, declare_public
    )
    network, provenance = chosen_target.network, chosen_target.provenance
    kind, known = chosen_target.band, chosen_target.known
    share = float(exact(beta, "beta"))
    limits = as_bounds(bounds, network)
    name = mechanism if isinstance(mechanism, str) else None
    choice = noise_choice(name, hide, alpha, floor, ratings, calibration, limits, ratings_source)
    make = mechanism_maker(network, mechanism, choice, epsilon)
    whole = exact(EPSILON if epsilon is None else epsilon, "epsilon")
    budget, shares = cost_budget_of(cost_budget, provenance, mechanism, make, whole, network, kind)
    chosen = make(whole - budget)
    if release_id is None:
        release_id = default_id(network, chosen, provenance, budget, kind)
    plan = ReleasePlan(
        network=network,
        mechanism=chosen,
        method=make_method(method, agents, kind).for_release(),
        band=kind,
        beta=share,
        release_id=release_id,
        provenance=provenance,
        target=known,
        cost_budget=budget,
        shares=shares,
        keep=kept_kinds(keep),
        accept_matches=tuple(accept_matches),
        accept_unsound=accept_unsound,
        register=register_choice(register, new_register),
        charge=Charge(Fraction(0), Fraction(0), is_drawn=False),
        post_processing=make_post_processing(
            network, chosen, consumers, power_factor, correct_bias
        ),
    )
    plan.draft(known)
    plan = replace(plan, charge=charge_of_plan(plan, ledger))
    plan.refuse_declared()
    return plan


def release(
    network: Network | str | Path,
    ledger: Ledger | str | Path | None = None,
    *,
    key: Ed25519PrivateKey | None = None,
    notify: Notify = lambda _: None,
    solver: Solver | str | None = None,
    device: Device | str | None = None,
    **choices: Unpack[ReleaseChoices],
) -> Release:
    """Plan a release and run the plan: a private, certified network that can be published.

    Args:
        network: The network, or its name or path.
        ledger: Holds the budgets; a path, or None for the user's own.
        key: Signs the certificate.
        notify: Called with the name of each phase.
        solver: What solves central programs: "ipopt", "interior-point" or "auto".
        device: Where they are solved, and where agents run: "cpu", "gpu" or "auto".
        **choices: Those of `plan_release`: epsilon, alpha, beta, mechanism, method, costs, …

    Example:
        >>> from gridveil import release
        >>> from tempfile import mkdtemp
        >>> made = release("case5_pjm", mkdtemp() + "/ledger.sqlite", epsilon=1, beta=0.05)
        >>> sorted(made.files)
        ['certificate.json', 'loads.csv', 'network.m', 'positions.csv', 'report.html']
    """
    with using(solver, device):
        plan = plan_release(network, ledger=ledger, **choices)
        return plan.run(ledger, key=key, notify=notify)


def _conditions(target: Target | None) -> dict[str, str]:
    """Return what a draw stands for beside its noise: what raw loads gave is that of one day.

    Without this, changed loads under an old id would give away new costs, again and again.
    """
    if target is None or not target.derived_digest:
        return {}
    return {f"{target.option}_derived": target.derived_digest}
