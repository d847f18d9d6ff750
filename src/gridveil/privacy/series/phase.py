"""The privacy phase of a load series: drawn, charged hour by hour, and stored before use."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import Charge, LoadOwner, RegisterChoice, Spending
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import Origin
from gridveil.privacy.plausible_distance import check_distance
from gridveil.privacy.series.mechanism import SeriesMechanism


@dataclass(frozen=True, eq=False)
class PrivateSeries(ArrayRecord):
    """The private series of a network's loads, as the mechanism draws it, before smoothing."""

    first_hour: int
    coefficients: IntArray
    """As the ledger stores them, of shape (loads, 2, blocks, coefficients of a block)."""
    p: FloatArray
    """Reconstructed, not smoothed, in p.u., of shape (hours, loads)."""
    q: FloatArray
    origin: Origin
    release_id: str | None
    mechanism: SeriesMechanism

    @property
    def hours(self) -> int:
        """How many hours it has."""
        return len(self.p)

    def require_private(self) -> None:
        """Refuse a series that came from a simulation: it must not leave its owner."""
        if self.origin is not Origin.EXACT:
            raise GridveilError(
                "this series comes from a simulation: floating-point noise and a seed undo the "
                "privacy. Only the privacy phase with a ledger gives series that may be released"
            )


def privatise_series(
    network: Network,
    series: LoadSeries,
    mechanism: SeriesMechanism,
    ledger: Ledger,
    release_id: str,
    *,
    conditions: Mapping[str, str] | None = None,
    register: RegisterChoice | None = None,
) -> PrivateSeries:
    """Draw the private series of a release, charge its budget, and store it before returning.

    The same release id gives the same series again, whatever the loads are now, and costs nothing.

    Args:
        network: Whose loads they are.
        series: Their values; drawn and charged.
        mechanism: Draws the noise.
        ledger: Holds the budgets.
        release_id: What the ledger stores the draw under.
        conditions: What else the id stands for: asked for again with others, it is refused.
        register: Which register of the ledger the loads belong to, where the owner has to say.

    Raises:
        GridveilError: The series is not one of the network or of the mechanism, or the ledger
            refuses the release.

    Example:
        >>> from pathlib import Path; from tempfile import mkdtemp
        >>> from gridveil import Ledger, load_case
        >>> from gridveil.network.series.shapes import example_series
        >>> from gridveil.privacy.series.mechanism import series_mechanism
        >>> from gridveil.privacy.series.promise import SeriesPromise
        >>> network = load_case("case5_pjm")
        >>> series, ratings = example_series(network, hours=48, seed=1)
        >>> promise = SeriesPromise.of("day", 1, "20MVA")
        >>> alphas = promise.alphas(3, network.base_mva)
        >>> made = series_mechanism(promise, network.base_mva, alphas, series.first_hour, 48)
        >>> ledger = Ledger(Path(mkdtemp()) / "ledger.sqlite")
        >>> privatise_series(network, series, made, ledger, "first").p.shape
        (48, 3)
    """
    check_together(network, series, mechanism)
    asked = spending_of_series(owner_of(network, register), mechanism, conditions)
    if not ledger.knows(release_id):
        check_distance(network, asked, ledger.distance_of(asked))

    def draw() -> IntArray:
        drawn = mechanism.release(mechanism.to_grid(series.p, series.q))
        return drawn.reshape(mechanism.loads, -1)

    drawn = ledger.spend(release_id, asked, draw).reshape(mechanism.shape)
    return _private(mechanism, drawn, Origin.EXACT, release_id)


def spending_of_series(
    owner: LoadOwner, mechanism: SeriesMechanism, conditions: Mapping[str, str] | None = None
) -> Spending:
    """Return what a release of a series asks of the budget of every load.

    Args:
        owner: Whose loads they are.
        mechanism: What draws it.
        conditions: What else the release id stands for.
    """
    specification = {**mechanism.specification(), **(conditions or {})}
    text = json.dumps({**specification, "base_mva": owner.base_mva}, sort_keys=True)
    hours = mechanism.hourly_losses()
    metric = mechanism.promise.metric
    is_energy = metric is Metric.ENERGY
    epsilon = mechanism.promise.epsilon if is_energy else sum(hours.losses, Fraction(0))
    distances = tuple(alpha * mechanism.base_mva for alpha in mechanism.alphas)
    charge = Charge(epsilon, min(distances), metric)
    window = mechanism.promise.window_hours(mechanism.hours)
    return Spending(owner, charge, text, hours, distances=distances, window=window)


def simulate_series(
    network: Network, series: LoadSeries, mechanism: SeriesMechanism, seed: int
) -> PrivateSeries:
    """Draw a noisy series for a study: fast and repeatable, not private, no budget touched.

    Args:
        network: Whose loads they are.
        series: Their values.
        mechanism: What is simulated.
        seed: The same seed gives the same noise.

    Raises:
        GridveilError: The series is not one of the network or of the mechanism.
    """
    check_together(network, series, mechanism)
    random = np.random.default_rng(seed)
    drawn = mechanism.simulate(mechanism.to_grid(series.p, series.q), random)
    return _private(mechanism, drawn, Origin.SIMULATION, None)


def _private(
    mechanism: SeriesMechanism, drawn: IntArray, origin: Origin, release_id: str | None
) -> PrivateSeries:
    p, q = mechanism.reconstruct(drawn)
    return PrivateSeries(mechanism.first_hour, drawn, p, q, origin, release_id, mechanism)


def check_together(network: Network, series: LoadSeries, mechanism: SeriesMechanism) -> None:
    """Refuse what does not belong together; by public facts alone."""
    keys = tuple(load.key for load in network.listed_loads.identities)
    if series.keys != keys:
        raise GridveilError(
            f"the series has {len(series.keys)} loads, and {network.name} has {len(keys)}; it must "
            "have those in service, in their order"
        )
    if (series.first_hour, series.hours) != (mechanism.first_hour, mechanism.hours):
        raise GridveilError("the mechanism is for other hours than the series has")
    if mechanism.loads != len(keys) or float(mechanism.base_mva) != network.base_mva:
        raise GridveilError("the mechanism is for another network than the series is of")
