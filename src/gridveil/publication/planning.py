"""`plan`: what a release will look like, and what neighbouring settings would give."""

import time
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from pathlib import Path

from gridveil.admm.options import AgentOptions
from gridveil.defaults import BETA, CALIBRATION, EPSILON
from gridveil.device import Device
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, FidelityMethod
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.opf.solvers import Solver, using
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.hide import Hide
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.metric import Metric
from gridveil.privacy.ratings import PublicRatings
from gridveil.publication.costs import CostsLike
from gridveil.publication.dispatch import DispatchLike
from gridveil.publication.forecast.forecast import DRAWS, LoadsFrom, basis_of
from gridveil.publication.forecast.outlook import Outlook, Setting, hidden_change
from gridveil.publication.forecast.trials import Basis
from gridveil.publication.idle import IdleChoice, idle_sentence
from gridveil.publication.make import Notify
from gridveil.publication.plan import ReleaseChoices, ReleasePlan, plan_release

_HALF, _TWICE = Fraction(1, 2), Fraction(2)
_LARGE = 0.5
"""The error of half of the loads, relatively, from which what is hidden seems not to fit."""
_LARGE_NOISE = (
    "The noise is large beside most loads. If it need not be hidden how large a load is, but only "
    "by how much it changes, --hide in % of each load or of its rating fits better."
)
_SMALL_LOADS = (
    "Most loads are small beside the floor, below which per cent turn into a fixed amount; --hide "
    "in % of ratings fits them better."
)


def plan(
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
    method: FidelityMethod | str | None = None,
    band: BandKind | str | None = None,
    agents: AgentOptions | None = None,
    costs: CostsLike | None = None,
    costs_source: str = "",
    dispatch: DispatchLike | None = None,
    dispatch_source: str = "",
    declare_public: Collection[str] | str = (),
    cost_budget: Number | None = None,
    idle_loads: IdleChoice | str = IdleChoice.LEAVE_OUT,
    register: str | None = None,
    new_register: str | None = None,
    ledger: Ledger | str | Path | None = None,
    loads_from: LoadsFrom | str = LoadsFrom.OWN,
    draws: int = DRAWS,
    seed: int = 1,
    quick: bool = False,
    solver: Solver | str | None = None,
    device: Device | str | None = None,
    notify: Notify = lambda _: None,
) -> Outlook:
    """Forecast a release and its neighbours by simulation: nothing is drawn or spent.

    The neighbours have half of ε, twice ε, and half of the distance. A mechanism given as an object
    has its own ε and distance, and no neighbours.

    Args:
        network: As for `plan_release`, and so is all that is not said here.
        epsilon: See `plan_release`.
        hide: See `plan_release`.
        floor: See `plan_release`.
        ratings: See `plan_release`.
        ratings_source: See `plan_release`.
        alpha: See `plan_release`.
        beta: See `plan_release`.
        mechanism: See `plan_release`.
        calibration: See `plan_release`.
        bounds: See `plan_release`.
        method: See `plan_release`.
        band: See `plan_release`.
        agents: See `plan_release`.
        costs: See `plan_release`.
        costs_source: See `plan_release`.
        dispatch: See `plan_release`.
        dispatch_source: See `plan_release`.
        declare_public: See `plan_release`.
        cost_budget: See `plan_release`.
        idle_loads: See `plan_release`.
        register: See `plan_release`.
        new_register: See `plan_release`.
        ledger: Where budgets are looked up; None for the user's own ledger.
        loads_from: "own" takes the raw loads: the forecast is private then. "public" makes loads up
            from ratings, or from the limits of generators and branches; nothing then depends on
            the raw loads.
        draws: How many whole releases are simulated for each setting.
        seed: Of the simulated noise and of made-up loads.
        quick: Restore nothing: figures of the noise alone.
        solver: What solves central programs: "ipopt", "interior-point" or "auto".
        device: Where they are solved, and where agents run: "cpu", "gpu" or "auto".
        notify: Called with what is being done, and how long it may still take.

    Example:
        >>> from gridveil import plan
        >>> from tempfile import mkdtemp
        >>> outlook = plan("case5_pjm", draws=2, ledger=mkdtemp() + "/ledger.sqlite")
        >>> outlook.asked.forecast.restoring.released.happened
        2
        >>> [setting.name for setting in outlook.neighbours]
        ['half the ε', 'twice the ε', 'half the distance']
    """
    network, source = as_network(network), _source(loads_from)
    if draws < 1 or seed < 0:
        raise GridveilError("draws must be 1 or more, and seed 0 or more")
    asked: ReleaseChoices = {
        "epsilon": epsilon,
        "hide": hide,
        "floor": floor,
        "ratings": ratings,
        "ratings_source": ratings_source,
        "alpha": alpha,
        "beta": beta,
        "mechanism": mechanism,
        "calibration": calibration,
        "bounds": bounds,
        "method": method,
        "band": band,
        "agents": agents,
        "costs": costs,
        "costs_source": costs_source,
        "dispatch": dispatch,
        "dispatch_source": dispatch_source,
        "declare_public": declare_public,
        "cost_budget": cost_budget,
        "idle_loads": idle_loads,
        "register": register,
        "new_register": new_register,
    }
    with using(solver, device):
        return _outlook(network, asked, source, draws, seed, quick, ledger, notify)


def _outlook(
    network: Network,
    asked: ReleaseChoices,
    source: LoadsFrom,
    draws: int,
    seed: int,
    quick: bool,
    ledger: Ledger | str | Path | None,
    notify: Notify,
) -> Outlook:
    planned = plan_release(network, ledger=ledger, **asked)
    others = [
        (name, _planned(network, changed, ledger)) for name, changed in _neighbours(asked, planned)
    ]
    notify("AC-OPF of the network" if source is LoadsFrom.OWN else "making up loads")
    basis = basis_of(planned.network, planned.steps().mechanism, source, seed, not quick)
    count = 0 if quick else draws
    plans = [planned, *(one for _, one in others if isinstance(one, ReleasePlan))]
    progress = _progress(count * len(plans), notify)
    first = _setting("as asked", planned, basis, count, seed, progress)
    return Outlook(
        network.name,
        len(network.loads),
        source,
        first,
        tuple(_setting(name, one, basis, count, seed, progress) for name, one in others),
        tuple(_notes(planned, first, basis, quick)),
    )


def _source(loads_from: LoadsFrom | str) -> LoadsFrom:
    try:
        return LoadsFrom(loads_from)
    except ValueError:
        raise GridveilError(
            f"--from (loads_from in Python): {loads_from!r} is none of own, public"
        ) from None


def _neighbours(
    asked: ReleaseChoices, planned: ReleasePlan
) -> Iterator[tuple[str, ReleaseChoices]]:
    """Yield neighbouring choices by their names."""
    mechanism = asked["mechanism"]
    if not isinstance(mechanism, str | None):
        return
    epsilon = exact(EPSILON if asked["epsilon"] is None else asked["epsilon"], "epsilon")
    for name, factor in (("half the ε", _HALF), ("twice the ε", _TWICE)):
        budget = asked["cost_budget"]
        part = None if budget is None else factor * exact(budget, "cost budget")
        yield name, {**asked, "epsilon": factor * epsilon, "cost_budget": part}
    if planned.mechanism.guarantee().distance is not None:
        half = noise_choice(mechanism, asked["hide"], asked["alpha"]).scaled(_HALF)
        yield "half the distance", {**asked, "hide": half.hide, "alpha": half.alpha}


def _planned(
    network: Network, choices: ReleaseChoices, ledger: Ledger | str | Path | None
) -> ReleasePlan | GridveilError:
    """Return the plan of a neighbour, or why there can be none."""
    try:
        return plan_release(network, ledger=ledger, **choices)
    except GridveilError as error:
        return error


def _setting(
    name: str,
    planned: ReleasePlan | GridveilError,
    basis: Basis,
    draws: int,
    seed: int,
    progress: Callable[[], None],
) -> Setting:
    if isinstance(planned, GridveilError):
        return Setting(name, refused=str(planned))
    forecast = planned.simulated(basis, draws, seed, progress)
    return Setting(
        name,
        hidden_change(planned.mechanism, planned.network.base_mva),
        planned.promise.epsilon,
        float(planned.charge.epsilon),
        float(planned.charge.least_left),
        forecast,
    )


def _notes(planned: ReleasePlan, asked: Setting, basis: Basis, quick: bool) -> Iterator[str]:
    """Yield what else an owner should know before the release."""
    if len(planned.network.idle_loads):
        yield f"{idle_sentence(planned.network)}."
    if planned.charge.is_drawn:
        yield (
            "A release with these parameters was drawn before: it is what it is, and a new one "
            "needs another --release-id and its own ε."
        )
    if quick:
        yield "These are figures of the noise alone, before the loads are restored."
    elif basis.true_cost is None and planned.band is not BandKind.NONE:
        what = "cost" if planned.band.on_costs else "dispatch"
        yield (
            f"Your own loads have no AC-OPF, so there is no true {what} to compare with; 'gridveil "
            "solve' shows why."
        )
    guarantee = planned.mechanism.guarantee()
    relative = None if asked.forecast is None else asked.forecast.noise.median_relative
    if guarantee.warning:
        yield f"{guarantee.warning}."
    elif relative is not None and relative.median > _LARGE:
        yield _SMALL_LOADS if guarantee.kind is Metric.RELATIVE else _LARGE_NOISE


def _progress(total: int, notify: Notify) -> Callable[[], None]:
    """Return what tells, before each of so many simulated releases, how long they may take."""
    started, done = time.monotonic(), 0

    def tell() -> None:
        nonlocal done
        left = (time.monotonic() - started) / done * (total - done) if done else None
        about = "" if left is None else f", about {left:.0f} s left"
        done += 1
        notify(f"simulated release {done} of {total}{about}")

    return tell
