"""The privacy phase of a network: every load becomes a private one, or a marked simulated one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import Charge, LoadOwner, RegisterChoice, Spending
from gridveil.privacy.mechanisms.base import (
    Mechanism,
    check_mechanism,
    checked_loads,
    checked_release,
    checked_simulation,
)
from gridveil.privacy.metric import Metric
from gridveil.privacy.plausible_distance import check_distance
from gridveil.privacy.relative_distance import check_relative_distance


class Origin(Enum):
    """How noisy loads came about, and so whether they may be released."""

    EXACT = "exact sampling from operating-system entropy"
    SIMULATION = "simulation, not private"


@dataclass(frozen=True, eq=False)
class NoisyLoads(ArrayRecord):
    """The loads S̃ after the privacy phase, in p.u., in the order of the network's loads."""

    p: FloatArray
    q: FloatArray
    guarantee: Guarantee
    origin: Origin
    release_id: str | None

    def require_private(self) -> None:
        """Refuse loads that came from a simulation: they must not leave their owner."""
        if self.origin is not Origin.EXACT:
            raise GridveilError(
                "these loads come from a simulation: floating-point noise and a seed undo the "
                "privacy. Only the privacy phase with a ledger gives loads that may be released"
            )


def privatise(
    network: Network,
    mechanism: Mechanism,
    ledger: Ledger,
    release_id: str,
    *,
    accept_unsound: bool = False,
    conditions: Mapping[str, str] | None = None,
    register: RegisterChoice | None = None,
) -> NoisyLoads:
    """Draw the private loads of a release, charge their budget, and store them before returning.

    The same release id gives the same private loads again, whatever the loads are now, and costs
    nothing.

    Args:
        network: Its loads are drawn and charged.
        mechanism: Draws the noise.
        ledger: Holds the budgets.
        release_id: What the ledger stores the draw under.
        accept_unsound: Use a mechanism whose guarantee has a caution; refused otherwise.
        conditions: What else the id stands for: asked for again with others, it is refused.
        register: Which register of the ledger the loads belong to, where the owner has to say.

    Example:
        >>> from pathlib import Path; from tempfile import mkdtemp
        >>> from gridveil import Ledger, PolarLaplace, load_case, privatise
        >>> ledger = Ledger(Path(mkdtemp()) / "ledger.sqlite")
        >>> noisy = privatise(load_case("case5_pjm"), PolarLaplace.of(1, 0.1), ledger, "first")
        >>> len(noisy.p)
        3
    """
    sound_guarantee(mechanism, accept_unsound)
    owner = owner_of(network, register)
    if not ledger.knows(release_id):
        asked = spending_of(owner, mechanism)
        check_distance(network, asked, ledger.distance_of(asked))
    return privatise_loads(
        owner,
        _true_loads(network),
        mechanism,
        ledger,
        release_id,
        accept_unsound=accept_unsound,
        conditions=conditions,
    )


def privatise_loads(
    owner: LoadOwner,
    loads: FloatArray,
    mechanism: Mechanism,
    ledger: Ledger,
    release_id: str,
    *,
    accept_unsound: bool = False,
    conditions: Mapping[str, str] | None = None,
) -> NoisyLoads:
    """Draw the private values of some loads, of shape (loads, 2); otherwise as `privatise`."""
    guarantee = sound_guarantee(mechanism, accept_unsound)

    def draw() -> IntArray:
        return checked_release(mechanism, loads)

    specification = {**mechanism.specification(), **(conditions or {})}
    asked = spending_of(owner, mechanism, specification)
    steps = ledger.spend(release_id, asked, draw)
    p, q = checked_loads(mechanism, steps).T
    return NoisyLoads(p, q, guarantee, Origin.EXACT, release_id)


def sound_guarantee(mechanism: Mechanism, accept_unsound: bool) -> Guarantee:
    """Return what a mechanism promises; refuse one with a caution that was not accepted."""
    check_mechanism(mechanism)
    guarantee = mechanism.guarantee()
    if guarantee.caution and not accept_unsound:
        raise GridveilError(
            f"{guarantee.caution} It is refused for a release; ask for calibration 'sound', or "
            "accept the unsound one explicitly"
        )
    return guarantee


def exact_epsilon(mechanism: Mechanism) -> Fraction:
    """Return ε as the mechanism's parameters have it: 1/3, and not the double next to it."""
    return _exact_parameter(mechanism, "epsilon", mechanism.guarantee().epsilon)


def charge_of(mechanism: Mechanism, base_mva: float) -> Charge:
    """Return what a release with a mechanism takes of the budget of each load."""
    guarantee, epsilon = mechanism.guarantee(), exact_epsilon(mechanism)
    if guarantee.distance is None:
        return Charge(epsilon, None)
    if guarantee.floor is None:
        alpha = _exact_parameter(mechanism, "alpha", guarantee.distance)
        return Charge(epsilon, _distance_mva(alpha, base_mva))
    distance = _exact_parameter(mechanism, "distance", guarantee.distance)
    check_relative_distance(distance)
    return Charge(epsilon, distance, Metric.RELATIVE)


def floor_mva(mechanism: Mechanism, base_mva: float) -> Fraction | None:
    """Return the floor of a relative mechanism in MVA."""
    floor = mechanism.guarantee().floor
    if floor is None:
        return None
    return _exact_parameter(mechanism, "floor", floor) * exact(base_mva, "base")


def _exact_parameter(mechanism: Mechanism, name: str, promised: float) -> Fraction:
    try:
        stated = exact(mechanism.specification()[name], name)
    except (KeyError, GridveilError):
        return exact(promised, name)
    return stated if float(stated) == promised else exact(promised, name)


def spending(
    owner: LoadOwner,
    epsilon: Number,
    alpha: Number | None,
    specification: Mapping[str, str] | None = None,
) -> Spending:
    """Return what ε at distance α (in p.u.) asks of the budget of every load of an owner."""
    distance = None if alpha is None else _distance_mva(alpha, owner.base_mva)
    return _spending(owner, Charge(exact(epsilon, "epsilon"), distance), specification)


def spending_of(
    owner: LoadOwner,
    mechanism: Mechanism,
    specification: Mapping[str, str] | None = None,
    further: Fraction = Fraction(0),
) -> Spending:
    """Return what a mechanism asks of the budget of every load, and further ε at its distance."""
    charge = charge_of(mechanism, owner.base_mva)
    asked = _spending(owner, replace(charge, epsilon=charge.epsilon + further), specification)
    asked = replace(asked, floor=floor_mva(mechanism, owner.base_mva))
    if mechanism.load_distances is None:
        return asked
    distances = tuple(_distance_mva(one, owner.base_mva) for one in mechanism.load_distances)
    return replace(
        asked, charge=replace(asked.charge, distance=min(distances)), distances=distances
    )


def _spending(
    owner: LoadOwner, charge: Charge, specification: Mapping[str, str] | None
) -> Spending:
    text = json.dumps({**(specification or {}), "base_mva": owner.base_mva}, sort_keys=True)
    return Spending(owner, charge, text)


def _distance_mva(alpha: Number, base_mva: float) -> Fraction:
    """Return α in MVA, in which budgets are kept: the base of a file is only a convention."""
    return exact(alpha, "alpha") * exact(base_mva, "base")


def simulate_loads(network: Network, mechanism: Mechanism, seed: int) -> NoisyLoads:
    """Draw noisy loads for a study: fast and repeatable, not private, no budget touched.

    Args:
        network: Its loads get the noise.
        mechanism: Draws it, in floating point.
        seed: The same seed gives the same noise.

    Example:
        >>> from gridveil import PolarLaplace, load_case, simulate_loads
        >>> noisy = simulate_loads(load_case("case5_pjm"), PolarLaplace.of(1, 0.1), seed=1)
        >>> noisy.origin.value
        'simulation, not private'
    """
    check_mechanism(mechanism)
    if seed < 0:
        raise GridveilError(f"seed: {seed} must be 0 or more")
    random = np.random.default_rng(seed)
    p, q = checked_simulation(mechanism, _true_loads(network), random).T
    return NoisyLoads(p, q, mechanism.guarantee(), Origin.SIMULATION, None)


def _true_loads(network: Network) -> FloatArray:
    if not len(network.loads):
        raise no_loads(network)
    return network.listed_loads.values


def no_loads(network: Network) -> GridveilError:
    """Return the error for a network that has nothing to protect."""
    return GridveilError(f"{network.name} has no loads, so there is nothing to protect")
