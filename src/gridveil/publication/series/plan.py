"""Plans the release of a load series, then runs it: all is decided before anything is spent.

`plan_series_release` decides mechanism, band, id and charge, and drafts the whole certificate.
`SeriesPlan.run` draws once, smooths, restores hour by hour and makes the folder. Of it, the draw
alone sees the raw series; all that follows gets a blank network and private loads. In the end the
files are scanned for raw loads, as a guard against mistakes of our own.
"""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.options import AgentOptions
from gridveil.arrays import FloatArray
from gridveil.defaults import BETA, EPSILON
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, FidelityMethod
from gridveil.fidelity.load_limits import LoadLimits, nearest_loads_within
from gridveil.fidelity.phase import check_choices, check_has_costs
from gridveil.fidelity.registry import band_kind, make_method
from gridveil.fidelity.series.restore import device_of
from gridveil.html_table import html_table
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries, hour_text, load_keys
from gridveil.network.series.reading import load_series
from gridveil.opf.devices import cpu_steps_in
from gridveil.opf.ramps import case_ramps, read_ramps
from gridveil.opf.solvers import chosen
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.ledger.ledger import Ledger, existing_ledger
from gridveil.privacy.ledger.owner import network_id, owner_of, register_choice
from gridveil.privacy.ledger.records import Entry, RegisterChoice, Spending
from gridveil.privacy.phase import no_loads
from gridveil.privacy.plausible_distance import typical_load
from gridveil.privacy.ratings import PublicRatings, ratings_of
from gridveil.privacy.series.design import chosen_basis
from gridveil.privacy.series.mechanism import SeriesMechanism, series_mechanism
from gridveil.privacy.series.phase import PrivateSeries, privatise_series, spending_of_series
from gridveil.privacy.series.prior import Prior
from gridveil.privacy.series.prior_file import read_prior
from gridveil.privacy.series.promise import SeriesPromise, SeriesPromiseKind
from gridveil.privacy.series.smoothing import smoothed
from gridveil.privacy.series.total import (
    PrivateTotal,
    privatise_total_series,
    share_for_total,
    split,
)
from gridveil.privacy.series.usefulness import SeriesForecast, forecast_series
from gridveil.privacy.total import total_id
from gridveil.publication.case_file import blank
from gridveil.publication.certificate import Certificate
from gridveil.publication.charge import Charge, charge_of_plan, ledger_warnings
from gridveil.publication.choices import check_release_id
from gridveil.publication.post_processing import ConsumersLike, PostProcessing, consumer_limits
from gridveil.publication.scan.declared import refuse_declared
from gridveil.publication.series.basis import SeriesBasis
from gridveil.publication.series.make import (
    SeriesRelease,
    make_series,
    series_draft,
    without_distances,
)
from gridveil.publication.series.run import BlockProgress, solve_series
from gridveil.publication.series.scan import refuse_series_matches
from gridveil.publication.series.state import RunState, locked_state
from gridveil.publication.statements import post_processing_sentences

_NO_ENTRY = Entry("", Fraction(1), Fraction(1), None)
HIDE = "5%rating"
METHOD = "central"
SeriesLike = LoadSeries | Any
"""A series, or what `load_series` reads one from."""


@dataclass(frozen=True, eq=False, repr=False)
class SeriesPlan:
    """A release of a series that is decided and checked; nothing of it is drawn or spent."""

    network: Network
    """As its owner has it; its own loads play no part."""
    series: LoadSeries
    mechanism: SeriesMechanism
    """Of the loads, with what the total leaves of ε."""
    total: SeriesMechanism | None
    """What draws a private total of every hour; None where it does not pay."""
    ratings: PublicRatings | None
    sizes: FloatArray
    """The public size of each load in p.u.: its rating, or what a load of the network usually has.
    """
    prior: Prior
    forecast: SeriesForecast
    """How useful the release is expected to be, on made-up loads."""
    method: FidelityMethod
    band: BandKind
    beta: float
    limits: LoadLimits | None
    """Which loads are declared consumers, and their lowest power factor."""
    ramps: FloatArray | None
    """Ramp limits of generators in p.u. an hour; None where there are none."""
    release_id: str
    register: RegisterChoice | None
    accept_matches: tuple[str, ...]
    with_csv: bool
    charge: Charge = field(default_factory=lambda: Charge(Fraction(0), Fraction(0), is_drawn=False))

    @property
    def promise(self) -> SeriesPromise:
        """What the release promises of each load, the total included."""
        return self._basis(_NO_ENTRY).promise

    def draft(self) -> Certificate:
        """Refuse what does not fit together or could not be certified."""
        check_release_id(self.release_id)
        check_choices(self.method, self.beta, self.band)
        check_has_costs(self.network, self.band)
        entry = replace(_NO_ENTRY, charge=self.charge.epsilon, cumulative=self.promise.epsilon)
        return series_draft(self._basis(entry))

    def refuse_ratings(self) -> None:
        """Refuse ratings that agree with raw loads; nothing compares them once they are drawn."""
        if self.ratings is not None and not self.charge.is_drawn:
            peaks = self.network.with_loads(*_peaks(self.series))
            refuse_declared(peaks, (), "", self.ratings.texts(), self.accept_matches)

    def run(
        self,
        ledger: Ledger | str | Path | None = None,
        *,
        key: Ed25519PrivateKey | None = None,
        state: Path | None = None,
        workers: int = -1,
        notify: Callable[[str], None] = lambda _: None,
        progress: BlockProgress = lambda _done, _all, _left: None,
    ) -> SeriesRelease:
        """Draw the private series, restore every hour, certify the result.

        The budget is charged when the series is drawn. Whatever ends the run afterwards, the same
        plan goes on under the same id, at no further cost, and makes the same bytes.

        Args:
            ledger: Holds the budgets; a path, or None for the user's own.
            key: Signs the certificate.
            state: A folder in which blocks of hours are kept that are done; None keeps none.
            workers: Processes; −1 is one per core.
            notify: Called with the name of each phase.
            progress: Told of every block of hours.

        Raises:
            NotSolvedError: No hour was found in which the network works.
            GridveilError: Another run has this state.
        """
        if key is not None and not isinstance(key, Ed25519PrivateKey):
            raise GridveilError(f"key: an Ed25519PrivateKey expected, not {type(key).__name__}")
        with locked_state(state):
            return self._run(ledger, key, state, workers, notify, progress)

    def _run(
        self,
        ledger: Ledger | str | Path | None,
        key: Ed25519PrivateKey | None,
        state: Path | None,
        workers: int,
        notify: Callable[[str], None],
        progress: BlockProgress,
    ) -> SeriesRelease:
        """Run the plan; no other run has its state."""
        drafted = without_distances(self.draft()).to_bytes()
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        notify("privacy phase")
        if self.total is not None and not book.knows(self.release_id):
            book.check(self.spending())
        private = privatise_series(
            self.network, self.series, self.mechanism, book, self.release_id, register=self.register
        )
        private.require_private()
        total = self._bought_total(book)
        basis = self._basis(self._entry(book))
        notify("smoothing")
        p, q = self._smoothed(private, total, basis)
        with cpu_steps_in():  # whatever a GPU does, what was drawn is not lost
            kept = RunState(state, self._depends_on(private, total, basis))
            notify("fidelity phase")
            solved = solve_series(basis, p, q, kept, workers, progress)
        notify("report")
        solved = replace(solved, smoothing_effect=_smoothing_effect(private, p, basis))
        made = make_series(basis, solved, key)
        refuse_series_matches(
            made, self.network, self.series, private, drafted, self.accept_matches
        )
        return replace(made, state=kept)

    def left_behind(self, ledger: Ledger | str | Path | None = None) -> str:
        """Say what of this plan is drawn and charged by now, for a run that was cut off.

        Args:
            ledger: As for `run`.
        """
        if self.charge.is_drawn:
            return (
                f"nothing was charged; release id {self.release_id!r} was drawn before. Run the "
                "same command again to go on"
            )
        with existing_ledger(ledger) as book:
            if not book.knows(self.release_id):
                return "nothing was drawn or charged"
            is_whole = self.total is None or book.knows(total_id(self.release_id))
        then = "without a new charge" if is_whole else "which charges the rest, the total load"
        return (
            f"release id {self.release_id!r} was drawn and charged; run the same command again to "
            f"go on where it was, {then}"
        )

    def _bought_total(self, book: Ledger) -> PrivateTotal | None:
        if self.total is None:
            return None
        return privatise_total_series(
            self.network,
            self.series,
            self.total,
            self.mechanism,
            book,
            self.release_id,
            register=self.register,
        )

    def _entry(self, book: Ledger) -> Entry:
        """Return what the ledger knows of the last draw of this release."""
        entry = book.entry(self.release_id)
        if self.total is None:
            return entry
        last = book.entry(total_id(self.release_id))
        seals = (replace(last.seals[0], is_first=entry.seals[0].is_first),)
        return replace(last, seals=seals)

    def _basis(self, entry: Entry) -> SeriesBasis:
        return SeriesBasis(
            network=blank(self.network),
            release_id=self.release_id,
            mechanism=self.mechanism,
            total_epsilon=Fraction(0) if self.total is None else self.total.promise.epsilon,
            ratings_source="" if self.ratings is None else self.ratings.source,
            entry=entry,
            method=self.method,
            band=self.band,
            beta=self.beta,
            limits=self.limits,
            ramps=self.ramps,
            smoothing=self.prior.source,
            with_csv=self.with_csv,
        )

    def _smoothed(
        self, private: PrivateSeries, total: PrivateTotal | None, basis: SeriesBasis
    ) -> tuple[FloatArray, FloatArray]:
        """Return smoothed private loads within the limits of consumers."""
        p, q = smoothed(private, self.prior, self.sizes, total=total, consumers=False)
        loads = nearest_loads_within(basis.limits, np.stack([p, q], axis=2))
        return np.ascontiguousarray(loads[..., 0]), np.ascontiguousarray(loads[..., 1])

    def _depends_on(
        self, private: PrivateSeries, total: PrivateTotal | None, basis: SeriesBasis
    ) -> Iterator[bytes]:
        """Give what the blocks of hours depend on; nothing of it is raw."""
        yield private.coefficients.tobytes()
        yield b"" if total is None else total.coefficients.tobytes()
        yield basis.network.case.text.encode("utf-8", "surrogateescape")
        yield self.prior.p.tobytes() + self.prior.q.tobytes()
        yield self.sizes.tobytes()
        yield b"" if self.ramps is None else self.ramps.tobytes()
        yield b"" if basis.limits is None else basis.limits.consumers.tobytes()
        decided = {
            **self.mechanism.specification(),
            "release": self.release_id,
            "method": repr(self.method),
            "band": self.band.value,
            "beta": self.beta,
            "power_factor": None if self.limits is None else self.limits.power_factor,
            "solver": chosen().value,
            "device": device_of(basis.network, basis.hours).value,
            "software": series_draft(basis).software,
        }
        yield json.dumps(decided, sort_keys=True).encode()

    def spending(self) -> Spending:
        """Return what is asked of the budget of each load."""
        whole = replace(self.mechanism, promise=self.promise)
        return spending_of_series(owner_of(self.network, self.register), whole)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its ledger does not know."""
        return tuple(ledger_warnings(self.charge))

    def figures(self) -> dict[str, Any]:
        """Return the plan as plain numbers and texts, for JSON."""
        return {
            "network": self.network.name,
            "release_id": self.release_id,
            "loads": len(self.network.loads),
            "first_hour": hour_text(self.series.first_hour),
            "hours": self.series.hours,
            "promise_kind": self.promise.kind.value,
            "promise": self.promise.sentence(),
            "epsilon": float(self.promise.epsilon),
            "hide": str(self.promise.hide),
            "total_epsilon": float(self.promise.epsilon - self.mechanism.promise.epsilon),
            "charge": float(self.charge.epsilon),
            "least_left": float(self.charge.least_left),
            "is_drawn": self.charge.is_drawn,
            "register": self.charge.register,
            "method": self.method.name,
            "band": self.band.value,
            "beta": self.beta,
            "ramps": self.ramps is not None,
            "smoothing": self.prior.source,
            "expected_errors": {
                name: vars(getattr(self.forecast, name))
                for name in ("released", "no_data", "true_energy")
            },
            "post_processing": self._post_processing_sentences(),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        title, *lines = self._lines()
        return html_table(title, ("",), [(line,) for line in lines])

    def _lines(self) -> Iterator[str]:
        network, series = self.network, self.series
        yield (
            f"plan of a release of {series.hours} hours of {network.name} from "
            f"{hour_text(series.first_hour)}, release id {self.release_id}: nothing is drawn, "
            "nothing is spent"
        )
        yield self.promise.sentence()
        yield "not hidden: habits, what a load does on average over many such windows"
        if self.charge.is_drawn:
            yield "the series was drawn under this id before: nothing would be charged again"
        elif not self.charge.epsilon:
            yield (
                "no load would have spent more than it has in its fullest window of hours; at "
                f"least {float(self.charge.least_left):g} remains for each, in the register "
                f"{self.charge.register!r} of the ledger"
            )
        else:
            yield (
                f"each of {len(network.loads)} loads would be charged ε = "
                f"{float(self.charge.epsilon):g}; at least {float(self.charge.least_left):g} then "
                f"remains for each, in the register {self.charge.register!r} of the ledger"
            )
        if self.total is not None:
            epsilon = float(self.total.promise.epsilon)
            yield f"of it, ε = {epsilon:g} buys a private total of every hour"
        yield self.forecast.sentence()
        yield f"private series are smoothed with a public prior: {self.prior.source}"
        yield from self._post_processing_sentences()
        yield f"fidelity by {self.method.name}: {self.method.promise(self.beta, self.band)}"
        if self.ramps is not None:
            limited = int(np.isfinite(self.ramps).sum())
            yield (
                f"{limited} generators have ramp limits: the hours of a day are dispatched together"
            )
        yield from self.warnings

    def _post_processing_sentences(self) -> list[str]:
        done = PostProcessing(self.limits)
        loads = len(self.network.loads)
        return post_processing_sentences(done.consumer_count, loads, done.power_factor, False)


def _prior(prior: Prior | str | Path | None, first_hour: int, hours: int) -> Prior:
    if prior is None:
        return Prior.generated(first_hour, hours)
    return prior if isinstance(prior, Prior) else read_prior(Path(prior), first_hour, hours)


def plan_series_release(
    network: Network | str | Path,
    series: SeriesLike,
    *,
    promise: SeriesPromiseKind | str = SeriesPromiseKind.DAY,
    epsilon: Number | None = None,
    hide: Hide | str | None = None,
    ratings: PublicRatings | str | Path | None = None,
    ratings_source: str = "",
    prior: Prior | str | Path | None = None,
    total_share: Number | None = None,
    beta: Number = BETA,
    method: FidelityMethod | str | None = None,
    band: BandKind | str | None = None,
    agents: AgentOptions | None = None,
    ramps: str | Path | None = None,
    consumers: ConsumersLike | None = None,
    power_factor: Number | None = None,
    accept_useless: bool = False,
    accept_matches: Collection[str] = (),
    csv: bool = False,
    release_id: str | None = None,
    register: str | None = None,
    new_register: str | None = None,
    ledger: Ledger | str | Path | None = None,
) -> SeriesPlan:
    """Decide and check everything about the release of a series; nothing is drawn or spent.

    Args:
        network: The network, or its name or path; its own loads play no part.
        series: The loads hour by hour, or what `load_series` reads them from.
        promise: Which series nobody can tell apart: "day", "energy" or "window".
        epsilon: The budget ε of the release (1 if not said).
        hide: What is hidden in each hour, "5%rating" (if nothing is said) or "5MVA"; for "energy"
            that much for one hour.
        ratings: The public ratings of loads, as for `plan_release`.
        ratings_source: Where they were published.
        prior: Public profiles to smooth with, or a file of them with the columns time, NAME_p and
            NAME_q, in shares of ratings; made-up customers if None.
        total_share: The part of ε that buys a private total of every hour. None lets the plan
            choose, 0 buys none.
        beta: How far costs may be off O*_t, relatively, or outputs off p*_t, as a share of ranges.
        method: How each hour is restored: "central" if None.
        band: What stays within beta, as for `plan_release`.
        agents: How agents run, for a method that has agents.
        ramps: A file of ramp limits of generators; None takes those of the case file.
        consumers: The loads whose active power stays at 0 or more, as for `plan_release`.
        power_factor: The lowest that consumers have.
        accept_useless: Release a series that is further off than what is known without any data.
        accept_matches: Names of matches of the last scan that are coincidences.
        csv: Whether loads are written as CSV too.
        release_id: Name of the draw; the same id never draws or charges again.
        register: The register of the ledger that has these loads.
        new_register: The name of a new register.
        ledger: Where budgets are looked up; None for the user's own ledger.

    Raises:
        GridveilError: Something does not fit together, or could not be certified.
        BudgetExceededError: The loads have too little budget left.

    Example:
        >>> from gridveil import load_case
        >>> from gridveil.network.series.shapes import example_series
        >>> from tempfile import mkdtemp
        >>> network = load_case("case5_pjm")
        >>> series, _ = example_series(network, hours=24, seed=1)
        >>> plan = plan_series_release(
        ...     network, series, hide="20MVA", ledger=mkdtemp() + "/ledger.sqlite")
        >>> plan.mechanism.hours, float(plan.charge.epsilon)
        (24, 1.0)
    """
    known = as_network(network)
    if not len(known.loads):
        raise no_loads(known)
    loads = series if isinstance(series, LoadSeries) else load_series(series, known)
    if loads.keys != load_keys(known):
        raise GridveilError(
            f"series: has other loads than {known.name} has in service, or in another order"
        )
    hidden = Hide.parse(HIDE if hide is None else hide)
    asked = SeriesPromise.of(promise, EPSILON if epsilon is None else epsilon, hidden)
    rated = None
    if ratings is not None or hidden.unit is HiddenIn.RATING:
        rated = ratings_of(ratings, ratings_source, known)
    alphas = asked.alphas(len(known.loads), known.base_mva, rated)
    sizes, first, hours = _sizes(known, rated), loads.first_hour, loads.hours
    public = _prior(prior, first, hours)
    forecast = forecast_series(asked, first, hours, alphas, sizes, public)
    basis = chosen_basis(asked, public, [float(alpha) for alpha in alphas], sizes)
    whole = series_mechanism(asked, known.base_mva, alphas, first, hours, basis)
    share = share_for_total(alphas) if total_share is None else exact(total_share, "total share")
    if not 0 <= share < 1:
        raise GridveilError(f"total share: {total_share} is a part of ε, from 0 to below 1")
    mechanism, of_total = split(whole, share) if share else (whole, None)
    kind = _band(known, band)
    ramp_limits = case_ramps(known) if ramps is None else read_ramps(Path(ramps), known)
    plan = SeriesPlan(
        network=known,
        series=loads,
        mechanism=mechanism,
        total=of_total,
        ratings=rated,
        sizes=sizes,
        prior=public,
        forecast=forecast,
        method=make_method(METHOD if method is None else method, agents, kind).for_release(),
        band=kind,
        beta=float(exact(beta, "beta")),
        limits=consumer_limits(known, consumers, power_factor),
        ramps=ramp_limits if np.isfinite(ramp_limits).any() else None,
        release_id=_default_id(known, mechanism, share) if release_id is None else release_id,
        register=register_choice(register, new_register),
        accept_matches=tuple(accept_matches),
        with_csv=csv,
    )
    plan.draft()
    planned = replace(plan, charge=charge_of_plan(plan, ledger))
    planned.refuse_ratings()
    if not planned.charge.is_drawn:
        forecast.require_useful(accept_useless)
    return planned


def release_series(
    network: Network | str | Path,
    series: SeriesLike,
    ledger: Ledger | str | Path | None = None,
    *,
    key: Ed25519PrivateKey | None = None,
    state: Path | None = None,
    workers: int = -1,
    notify: Callable[[str], None] = lambda _: None,
    progress: BlockProgress = lambda _done, _all, _left: None,
    **choices: Any,
) -> SeriesRelease:
    """Plan the release of a series and run the plan: private, certified networks hour by hour.

    Args:
        network: The network, or its name or path.
        series: The loads hour by hour, or what `load_series` reads them from.
        ledger: Holds the budgets; a path, or None for the user's own.
        key: Signs the certificate.
        state: A folder in which blocks of hours are kept that are done; None keeps none.
        workers: Processes; −1 is one per core.
        notify: Called with the name of each phase.
        progress: Told of every block of hours.
        **choices: Those of `plan_series_release`: promise, epsilon, hide, ratings, beta, …

    Example:
        >>> from gridveil import load_case
        >>> from gridveil.network.series.shapes import example_series
        >>> from tempfile import mkdtemp
        >>> network = load_case("case5_pjm")
        >>> series, _ = example_series(network, hours=24, seed=1)
        >>> made = release_series(
        ...     network, series, mkdtemp() + "/ledger.sqlite", hide="20MVA", beta=0.05, workers=1)
        >>> sorted(made.files)[:4]
        ['certificate.json', 'dispatch.parquet', 'hours.parquet', 'loads.parquet']
    """
    plan = plan_series_release(network, series, ledger=ledger, **choices)
    return plan.run(ledger, key=key, state=state, workers=workers, notify=notify, progress=progress)


def _band(network: Network, band: BandKind | str | None) -> BandKind:
    """Return the band asked for; without one, that of the network."""
    if band is not None:
        return band_kind(band)
    return BandKind.COST if network.has_costs else BandKind.DISPATCH


def _peaks(series: LoadSeries) -> tuple[FloatArray, FloatArray]:
    """Return P and Q of each load in the hour in which it draws most: raw, for comparison alone."""
    with np.errstate(over="ignore"):  # of loads that are huge
        hour, load = np.hypot(series.p, series.q).argmax(axis=0), np.arange(len(series.keys))
    return series.p[hour, load], series.q[hour, load]


def _sizes(network: Network, ratings: PublicRatings | None) -> FloatArray:
    """Return the public size of each load in p.u."""
    base = network.base_mva
    if ratings is not None:
        return np.array([float(rating) for rating in ratings.mva]) / base
    return np.full(len(network.loads), (typical_load(network) or base) / base)


def _default_id(network: Network, mechanism: SeriesMechanism, share: Fraction) -> str:
    """Return the id of a release without one: the same network and parameters draw once."""
    places = network.listed_loads.places
    text = f"{network_id(network)} {mechanism.specification()} {share} series of {places}"
    return f"{network.name}-series-{sha256(text.encode()).hexdigest()[:8]}"


def _smoothing_effect(private: PrivateSeries, p: FloatArray, basis: SeriesBasis) -> str:
    """Say by how much smoothing moved private loads; it follows from these alone."""
    base = basis.network.base_mva
    moved = float(np.sqrt(np.mean((p - private.p) ** 2))) * base
    before, after = (100 * float(np.mean(values < 0)) for values in (private.p, p))
    return (
        f"It moved the active power of a load in an hour by {moved:.3g} MW (root mean square); "
        f"{before:.3g} % of all were negative before it, {after:.3g} % after it."
    )
