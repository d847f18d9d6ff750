"""Post-processing of private loads, on request: limits of consumers, and the bias of the mean.

Private loads are first corrected for the known bias of the noise, then moved to the nearest within
the limits of consumers, before the costs O* are computed and before anything is restored. The
fidelity phase keeps the limits (fidelity/load_limits.py).

It costs no privacy. Proof: what is published is a function of the private loads and of public
numbers alone, namely which loads are consumers, their power factor and the parameters of the
mechanism; and no function of private values tells more of a load than they do.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.load_limits import LoadLimits, nearest_loads_within
from gridveil.network.load_tables import Place, read_load_list
from gridveil.network.network import Network
from gridveil.network.source_loads import numbers_at_buses
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.phase import NoisyLoads

ALL = "all"
"""Declares all loads consumers."""
ConsumersLike = Collection[Place] | str | Path
"""Consumers: "all"; their buses, or pairs of a bus and a number there; or a file of these."""


@dataclass(frozen=True, eq=False)
class PostProcessing:
    """What is done to private loads before anything is computed from them."""

    limits: LoadLimits | None = None
    """Public limits of consumers; None where none are declared."""
    corrects_bias: bool = False

    @property
    def is_any(self) -> bool:
        """Whether anything is done."""
        return self.corrects_bias or self.limits is not None

    @property
    def power_factor(self) -> float | None:
        """The lowest power factor of consumers; None where none is declared."""
        return None if self.limits is None else self.limits.power_factor

    @property
    def consumer_count(self) -> int:
        """How many loads are consumers."""
        return 0 if self.limits is None else int(self.limits.consumers.sum())

    def consumers(self, load_buses: Sequence[int]) -> list[Place]:
        """Return which loads are consumers: a bus where all its loads are, else bus and number."""
        if self.limits is None:
            return []
        return consumer_places(load_buses, self.limits.consumers.tolist())

    def applied(self, loads: FloatArray, mechanism: Mechanism) -> FloatArray:
        """Return private loads, of shape (loads, 2), corrected and within the limits."""
        corrected = mechanism.corrected(loads) if self.corrects_bias else loads
        return nearest_loads_within(self.limits, corrected)

    def unbiased(self, loads: FloatArray, mechanism: Mechanism) -> FloatArray:
        """Return loads, as `applied` gives them, without the bias of their mean: for costs."""
        if self.corrects_bias:
            return loads
        return nearest_loads_within(self.limits, mechanism.corrected(loads))

    def applied_to(self, noisy: NoisyLoads, mechanism: Mechanism) -> NoisyLoads:
        """Return the same of the private loads of a release."""
        if not self.is_any:
            return noisy
        p, q = self.applied(np.stack([noisy.p, noisy.q], axis=1), mechanism).T
        return replace(noisy, p=p, q=q)


NO_POST_PROCESSING = PostProcessing()


def make_post_processing(
    network: Network,
    mechanism: Mechanism,
    consumers: ConsumersLike | None,
    power_factor: Number | None,
    correct_bias: bool,
) -> PostProcessing:
    """Return what was asked for, or say what does not fit together; no load is looked at.

    Args:
        network: The network, of which only the list of load buses counts.
        mechanism: The mechanism of its loads.
        consumers: The loads that are consumers, by public declaration; None for none.
        power_factor: The lowest that they have.
        correct_bias: Whether the bias of the mean is removed.
    """
    if correct_bias and not _has_bias(mechanism):
        raise GridveilError(
            f"--correct-bias (correct_bias in Python): the noise of {mechanism.name} has no bias "
            "that could be corrected; drop it"
        )
    return PostProcessing(consumer_limits(network, consumers, power_factor), correct_bias)


def consumer_limits(
    network: Network, consumers: ConsumersLike | None, power_factor: Number | None
) -> LoadLimits | None:
    """Return the limits of the loads that are declared consumers; the arguments are as above."""
    if consumers is None:
        if power_factor is not None:
            raise GridveilError(
                "--power-factor (power_factor in Python): means something with --consumers only; "
                "'--consumers all' declares every load a consumer"
            )
        return None
    factor = None if power_factor is None else float(exact(power_factor, "power factor"))
    return LoadLimits(_are_consumers(network, consumers), factor)


def at_buses(
    load_buses: Sequence[int],
    consumers: Collection[Place],
    power_factor: float | None,
    corrects_bias: bool,
) -> PostProcessing:
    """Return the post-processing that a certificate states."""
    if not consumers:
        return PostProcessing(None, corrects_bias)
    are_consumers = are_at(load_buses, consumers)
    return PostProcessing(LoadLimits(are_consumers, power_factor), corrects_bias)


def are_at(load_buses: Sequence[int], places: Collection[Place]) -> BoolArray:
    """Return which loads stand at one of some places: buses, or pairs of a bus and a number."""
    known = frozenset(places)
    pairs = zip(load_buses, numbers_at_buses(load_buses), strict=True)
    return np.array([bus in known or (bus, number) in known for bus, number in pairs], dtype=bool)


def consumer_places(load_buses: Sequence[int], are_consumers: Sequence[bool]) -> list[Place]:
    """Return the places of consumers, in the order of the network."""
    at: dict[int, list[bool]] = {}
    for bus, is_consumer in zip(load_buses, are_consumers, strict=True):
        at.setdefault(bus, []).append(is_consumer)
    return [
        place
        for bus, those in at.items()
        for place in (
            [bus] if all(those) else [(bus, i) for i, is_one in enumerate(those, 1) if is_one]
        )
    ]


def _has_bias(mechanism: Mechanism) -> bool:
    """Whether a mechanism, bounds aside, has a correction of its own."""
    inner = mechanism.mechanism if isinstance(mechanism, Clamped) else mechanism
    return type(inner).corrected is not Mechanism.corrected


def _are_consumers(network: Network, consumers: ConsumersLike) -> BoolArray:
    """Return whether each load is a consumer."""
    load_buses = network.load_buses
    if consumers == ALL:
        return np.ones(len(load_buses), dtype=bool)
    place = "--consumers (consumers in Python)"
    if isinstance(consumers, str | Path):
        place, consumers = str(consumers), read_load_list(Path(consumers))
    if not consumers:
        raise GridveilError(f"{place}: names no bus; say {ALL!r}, or drop it")
    known = set(load_buses) | set(zip(load_buses, network.loads.number.tolist(), strict=True))
    without = [one for one in consumers if one not in known]
    if without:
        more = f" and {len(without) - 1} more" if len(without) > 1 else ""
        raise GridveilError(
            f"{place}: {without[0]!r}{more} is not the number of a bus with a load of "
            f"{network.name}; consumers are named by the buses of their loads, one of several at a "
            "bus by its number too"
        )
    return are_at(load_buses, consumers)
