"""The privacy phase of lines and generators: quantities drawn and charged, or simulated."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger.elements import without_impedances
from gridveil.privacy.ledger.ledger import Ledger, Part
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import Charge, LoadOwner, RegisterChoice, Spending
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import Origin
from gridveil.privacy.quantities.base import ProtectedQuantity, is_protected
from gridveil.privacy.quantities.log_laplace import LogLaplace
from gridveil.privacy.quantities.private_case import with_private_case


@dataclass(frozen=True, eq=False, repr=False)
class NoisyQuantity(ArrayRecord):
    """The private values of one quantity."""

    quantity: type[ProtectedQuantity]
    keys: tuple[str, ...]
    """What each element is called in the ledger."""
    values: FloatArray
    """In p.u., of shape (elements, coordinates); what is public in them is what it was."""
    guarantee: Guarantee


@dataclass(frozen=True, repr=False)
class NoisyQuantities:
    """The private quantities of a network's lines and generators."""

    parts: tuple[NoisyQuantity, ...]
    origin: Origin
    release_id: str | None

    def __getitem__(self, quantity: str) -> NoisyQuantity:
        for part in self.parts:
            if part.quantity.name == quantity:
                return part
        known = ", ".join(part.quantity.name for part in self.parts)
        raise GridveilError(f"{quantity!r} is none of the quantities drawn: {known}")

    def require_private(self) -> None:
        """Refuse quantities that came from a simulation: they must not leave their owner."""
        if self.origin is not Origin.EXACT:
            raise GridveilError(
                "these quantities come from a simulation: floating-point noise and a seed undo the "
                "privacy. Only the privacy phase with a ledger gives quantities that may be "
                "released"
            )

    def network(self, network: Network) -> Network:
        """Return a network with these values, in a case without any raw one of these quantities.

        Loads and all other numbers of the model are those of the network.
        """
        for part in self.parts:
            network = part.quantity.with_values(network, part.values)
        return with_private_case(network, [part.quantity for part in self.parts])


def privatise_quantities(
    network: Network,
    promises: Sequence[LogLaplace],
    ledger: Ledger,
    release_id: str,
    *,
    register: RegisterChoice | None = None,
) -> NoisyQuantities:
    """Draw private quantities of lines and generators, charge their budgets, and store them.

    All are drawn and charged, or none. The same release id gives the same values again, whatever
    the values are now, and costs nothing.

    Args:
        network: Its circuits and generators are drawn and charged, each by itself.
        promises: What is protected, and how well: one for each quantity.
        ledger: Holds the budgets, one for each circuit or generator and quantity.
        release_id: What the ledger stores the draw under.
        register: Which register of the ledger the network belongs to, where the owner has to say.

    Raises:
        BudgetExceededError: A circuit or generator would spend more than its cap.
        GridveilError: A promise is not possible for the network.

    Example:
        >>> from pathlib import Path; from tempfile import mkdtemp
        >>> from gridveil import Ledger, load_case, privatise_quantities, protect
        >>> ledger = Ledger(Path(mkdtemp()) / "ledger.sqlite")
        >>> promises = [protect("impedances", 1, "10%"), protect("ratings", 1, "10%")]
        >>> noisy = privatise_quantities(load_case("case5_pjm"), promises, ledger, "first")
        >>> noisy["impedances"].values.shape
        (6, 3)
    """
    owner = without_impedances(owner_of(network, register))
    together = _checked(promises)
    parts = [_Drawn.of(network, promise) for promise in promises]
    stored = ledger.spend_together([part.asked(owner, release_id, together) for part in parts])
    drawn = tuple(part.noisy(steps) for part, steps in zip(parts, stored, strict=True))
    return NoisyQuantities(drawn, Origin.EXACT, release_id)


def simulate_quantities(
    network: Network, promises: Sequence[LogLaplace], seed: int
) -> NoisyQuantities:
    """Draw noisy quantities for a study: fast and repeatable, not private, no budget touched.

    Args:
        network: Its circuits and generators get the noise.
        promises: What is simulated: one for each quantity.
        seed: The same seed gives the same noise.

    Example:
        >>> from gridveil import load_case, protect, simulate_quantities
        >>> promises = [protect("limits", 1, "10%")]
        >>> simulate_quantities(load_case("case5_pjm"), promises, seed=1).origin.value
        'simulation, not private'
    """
    _checked(promises)
    if seed < 0:
        raise GridveilError(f"seed: {seed} must be 0 or more")
    random = np.random.default_rng(seed)
    drawn = []
    for promise in promises:
        part = _Drawn.of(network, promise)
        noisy = promise.simulate(part.values, random)
        drawn.append(NoisyQuantity(promise.quantity, part.keys, noisy, promise.guarantee()))
    return NoisyQuantities(tuple(drawn), Origin.SIMULATION, None)


@dataclass(frozen=True, repr=False)
class _Drawn:
    """A promise, and the raw values it is about: for as long as the draw takes."""

    promise: LogLaplace
    keys: tuple[str, ...]
    values: FloatArray

    @classmethod
    def of(cls, network: Network, promise: LogLaplace) -> "_Drawn":
        quantity = promise.quantity
        values = quantity.values(network)
        if not is_protected(values).any():
            raise GridveilError(
                f"{network.name} has no {quantity.name} to protect: all are 0 or infinite"
            )
        keys = tuple(f"{quantity.name} {key}" for key in quantity.keys(network))
        return cls(promise, keys, values)

    @property
    def charged(self) -> IntArray:
        """The elements that have anything to protect."""
        return np.flatnonzero(is_protected(self.values).any(axis=1))

    def asked(self, owner: LoadOwner, release_id: str, together: str) -> Part:
        """Return what is asked of the ledger."""
        promise, rows = self.promise, self.charged
        calibration = promise.calibration
        charge = Charge(calibration.epsilon, calibration.alpha, Metric.LOG)
        specification = {
            **promise.specification(),
            "base_mva": owner.base_mva,
            "together": together,
            "public": {self.keys[row]: _signs(self.values[row]) for row in rows},
        }
        spending = Spending(
            owner,
            charge,
            json.dumps(specification, sort_keys=True),
            distances=(calibration.alpha,) * len(rows),
            kind=promise.quantity.name,
            elements=tuple(self.keys[row] for row in rows),
        )
        return f"{release_id}: {promise.quantity.name}", spending, self._draw(rows)

    def _draw(self, rows: IntArray) -> Callable[[], IntArray]:
        def draw() -> IntArray:
            values = self.values[rows]
            return self.promise.release(self.promise.to_grid(values), values)

        return draw

    def noisy(self, steps: IntArray) -> NoisyQuantity:
        """Return the private values of all elements from the steps of those that were drawn."""
        promise, rows = self.promise, self.charged
        values = self.values.copy()
        values[rows] = promise.from_grid(steps, self.values[rows])
        return NoisyQuantity(promise.quantity, self.keys, values, promise.guarantee())


def _signs(values: FloatArray) -> str:
    """Return what is public in the coordinates of an element: signs, zeros, infinities."""
    return " ".join(
        f"{value:g}" for value in np.where(is_protected(values), np.sign(values), values)
    )


def _checked(promises: Sequence[LogLaplace]) -> str:
    """Return what is protected together; refuse none, and two promises of one quantity."""
    names = sorted(promise.quantity.name for promise in promises)
    if not names or len(set(names)) < len(names):
        raise GridveilError("promises: one for each quantity that is to be protected expected")
    return ", ".join(names)
