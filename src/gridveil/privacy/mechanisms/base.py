"""What a privacy mechanism is: the interface of ours and of those of other packages.

A mechanism brings everything that the rest of the program needs to know about it: how it draws,
what it promises, its parameters as they stand in a certificate, and the checks that `verify` makes
of them. `registry.py` lists the mechanisms by name.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gridveil.arrays import FloatArray, IntArray
from gridveil.claims import Claim, claim, proved
from gridveil.errors import GridveilError, raised_where
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.guarantee import (
    UNIT,
    WITHIN_BOUNDS,
    WITHIN_DISTANCE,
    WITHIN_PER_CENT,
    Guarantee,
    promise,
)
from gridveil.privacy.metric import Metric
from gridveil.privacy.sampling.grid import LARGEST, from_grid, to_grid

_LONGEST_NAME = 64
_ROUNDING = 1e-12
"""Relative difference of the grid step and the double nearest to it."""

Pair = tuple[tuple[float, float], tuple[float, float]]
"""Two values (P, Q) of a load, in p.u."""


@dataclass(frozen=True)
class MechanismSettings:
    """What a mechanism is made from when it is asked for by name."""

    epsilon: Number
    alpha: Number
    """In p.u., or a part of the load for a mechanism whose distance is relative."""
    step: Number | None = None
    """The grid step; None lets the mechanism choose."""
    bounds: PublicBounds | None = None
    """Public bounds of the loads, if there are any."""
    calibration: str = "sound"
    """For a mechanism that has several."""
    floor: Number | None = None
    """Of a relative distance: the load in p.u. below which it becomes an absolute one."""


@dataclass(frozen=True)
class StatedProtection:
    """What a certificate says about a mechanism, for the mechanism to check."""

    promise: str
    unit: str
    epsilon: float
    """Of the whole release, what paid for the costs included."""
    epsilon_costs: float
    delta: float
    alpha_pu: float | None
    metric: str
    grid_step_pu: float
    noise_scale_pu: float | None
    caution: str
    parameters: Mapping[str, str]
    """The mechanism's specification; empty in certificates of version 1."""
    base_mva: float
    bounds: str = ""
    """Where the public bounds were published that values are clamped to; empty without."""
    kind: str = Metric.ABSOLUTE.value
    """What its distance is measured in, the value of a `Metric`."""
    relative_distance: float | None = None
    """The distance of a relative promise, which has no α in p.u."""
    floor_pu: float | None = None
    """The floor of a relative distance."""
    loads: int = 0
    """How many there are."""

    @property
    def distance(self) -> float | None:
        """The distance of its promise, of whichever kind."""
        return self.alpha_pu if self.relative_distance is None else self.relative_distance

    def measures(self, kind: Metric) -> bool:
        """Whether it has the numbers that a distance of this kind has, and no others."""
        relative = (self.relative_distance, self.floor_pu)
        if kind is Metric.RELATIVE:
            return self.kind == kind.value and None not in relative and self.alpha_pu is None
        return self.kind == kind.value and relative == (None, None)

    @property
    def epsilon_loads(self) -> float:
        """What paid for the loads."""
        return self.epsilon - self.epsilon_costs

    def is_epsilon(self, loads: Fraction) -> bool:
        """Whether its ε is the double of this, for the loads, and of what paid for the costs."""
        paid = exact(float(loads), "epsilon") + exact(self.epsilon_costs, "epsilon of the costs")
        return self.epsilon == float(paid)


class Mechanism(ABC):
    """Turns loads into private ones. Arrays of loads have the shape (loads, 2): P and Q."""

    calibrations: ClassVar[tuple[str, ...]] = ()
    """The names of its calibrations, the usual one first, if it has several."""
    needs_bounds: ClassVar[bool] = False
    """Whether it is made from public bounds. Others are clamped to them where there are any."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the registry, on the command line and in certificates."""

    @classmethod
    @abstractmethod
    def from_settings(cls, settings: MechanismSettings) -> Self:
        """Make it from settings, or say which of them it cannot work with."""

    @property
    @abstractmethod
    def step(self) -> Fraction:
        """The grid step: in p.u., where its grid is that of P and Q."""

    @property
    def is_linear(self) -> bool:
        """Whether whole numbers of its grid are P and Q in grid steps."""
        return True

    def to_grid(self, loads: FloatArray) -> IntArray:
        """Return loads in p.u. as whole numbers of its grid: of P and Q, where not said otherwise.

        It accepts every load, infinite ones too: an error would depend on a load.
        """
        return to_grid(loads, self.step)

    def from_grid(self, steps: IntArray) -> FloatArray:
        """Return the loads in p.u. that whole numbers of its grid stand for."""
        return from_grid(steps, self.step)

    def corrected(self, loads: FloatArray) -> FloatArray:
        """Return private loads without the bias of their mean, where the noise has one."""
        return loads

    @abstractmethod
    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid: exact, from operating-system entropy."""

    @abstractmethod
    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return values for simulation studies, in p.u.: fast, seeded and NOT private."""

    @abstractmethod
    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return ln P(output | one) − ln P(output | other), as its proof has it."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return what it promises."""

    @abstractmethod
    def specification(self) -> dict[str, str]:
        """Return every parameter, so that two mechanisms with the same one are the same.

        It stands in the ledger and in the certificate.
        """

    @property
    def load_distances(self) -> tuple[Fraction, ...] | None:
        """The exact distance of each load, in p.u., where they differ."""
        return None

    def of_first(self, count: int) -> "Mechanism":  # noqa: ARG002
        """Return the mechanism of the first loads alone; itself where it is the same for all."""
        return self

    def noise_variance(self) -> float | None:
        """Return the variance of P, and of Q, in p.u.², where it is the same for every load.

        None where it depends on the load, or where the mechanism does not say.
        """
        return None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self | None:
        """Make it from its own specification, as a certificate has it.

        None where a certificate does not hold all that it takes, as where there are public bounds.
        """
        del parameters
        return None

    def audit_pairs(self) -> tuple[Pair, ...]:
        """Return pairs of loads that it promises to keep apart, for the audit to play with."""
        distance = self.guarantee().distance
        if distance is None:
            raise GridveilError(
                f"mechanism {self.name!r}: it promises ε at any distance and must say itself which "
                "pairs an audit plays with (audit_pairs)"
            )
        return near_pairs(distance)

    @classmethod
    def checks(cls, stated: StatedProtection) -> Iterator[Claim]:
        """Check what a certificate says about the mechanism: one claim for each statement.

        A mechanism whose guarantee has a caution overrides this: without its word there is none.
        """
        kind = Metric.ABSOLUTE if stated.relative_distance is None else Metric.RELATIVE
        within = WITHIN_DISTANCE if kind is Metric.ABSOLUTE else WITHIN_PER_CENT
        yield promise_claim(stated, WITHIN_BOUNDS if stated.distance is None else within, kind=kind)


def near_pairs(alpha: float) -> tuple[Pair, ...]:
    """Return pairs of loads α apart (L1), in p.u.: along P, Q and both, a zero load first."""
    return (
        ((0.0, 0.0), (alpha, 0.0)),
        ((0.0, 0.0), (0.0, alpha)),
        ((0.3, 0.1), (0.3 + alpha / 2, 0.1 - alpha / 2)),
        ((0.7, 0.2), (0.7 - alpha, 0.2)),
    )


def promise_claim(
    stated: StatedProtection, pairs: str, caution: str = "", kind: Metric = Metric.ABSOLUTE
) -> Claim:
    """Check that a stated promise is the sentence that its numbers give.

    It holds by the proof of the mechanism, whose parameters are checked beside it.

    Args:
        stated: What a certificate says.
        pairs: Which pairs of values the promise is about, as in `Guarantee`.
        caution: What the mechanism itself warns of; no other text may stand beside a promise.
        kind: What the distance is measured in.
    """
    if not stated.measures(kind):
        return claim("promise", f"{stated.kind} distance", f"{kind.value} distance alone", ok=False)
    sentence = promise(
        stated.epsilon,
        stated.delta,
        stated.distance,
        stated.base_mva,
        pairs,
        caution,
        stated.floor_pu,
    )
    if (stated.promise, stated.unit, stated.caution) != (sentence, UNIT, caution):
        return claim("promise", stated.promise, sentence, ok=False)
    mechanism = stated.parameters.get("mechanism", "its mechanism")
    return proved("promise", sentence, f"by the theorem of {mechanism}, whose scale is below")


def check_mechanism(mechanism: object) -> None:
    """Refuse an object that does not keep to the interface, before anything is charged for it.

    Raises:
        GridveilError: What is wrong, by the name of the mechanism and of its method.
    """
    if not isinstance(mechanism, Mechanism):
        raise GridveilError(
            "mechanism: a name or an object of a subclass of gridveil.Mechanism expected, not "
            f"{type(mechanism).__name__}"
        )
    name, promised, step, specification = answers = _answers(mechanism)
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME):
        raise GridveilError(f"mechanism {type(mechanism).__name__}: its name must be a short text")
    if not isinstance(step, Fraction) or step <= 0:
        raise _broken(mechanism, "step", "must be a fraction above 0")
    if not isinstance(promised, Guarantee):
        raise _broken(mechanism, "guarantee()", "must return a gridveil.Guarantee")
    _check_guarantee(mechanism, promised)
    if not math.isclose(promised.step, step, rel_tol=_ROUNDING):
        raise _broken(mechanism, "guarantee()", "must state the grid step that it draws on")
    if not isinstance(specification, dict) or not all(
        isinstance(text, str) for item in specification.items() for text in item
    ):
        raise _broken(mechanism, "specification()", "must return texts by name")
    if specification.get("mechanism") != name:
        raise _broken(mechanism, "specification()", "must hold its name under 'mechanism'")
    if _answers(mechanism) != answers:  # the ledger, the certificate and the id would not agree
        raise _broken(mechanism, "guarantee() and specification()", "must not change between calls")


def checked_claims(mechanism: type[Mechanism], stated: StatedProtection) -> Iterator[Claim]:
    """Give the claims of a mechanism's own checks; one that fails is a claim that does not hold."""
    try:
        yield from mechanism.checks(stated)
    except Exception as error:  # whatever the code of another package raises for hostile numbers
        yield claim("checks by the mechanism", "possible", f"failed: {type(error).__name__}", False)


def checked_release(mechanism: Mechanism, loads: FloatArray) -> IntArray:
    """Return private values of loads in p.u., as whole numbers that have loads in p.u. again."""
    drawn = checked_draw(mechanism, checked_steps(mechanism, loads))
    checked_loads(mechanism, drawn)
    return drawn


def checked_steps(mechanism: Mechanism, loads: FloatArray) -> IntArray:
    """Return loads on the mechanism's grid, or refuse what is not one whole number for each."""
    found = _seen(mechanism, "to_grid()", lambda: mechanism.to_grid(loads), loads.shape)
    return _whole(mechanism, "to_grid()", found)


def checked_draw(mechanism: Mechanism, steps: IntArray) -> IntArray:
    """Return private values of loads on the grid, or refuse what is not such."""
    drawn = _drawn(mechanism, "release()", lambda: mechanism.release(steps), steps.shape)
    return _whole(mechanism, "release()", drawn)


def checked_loads(mechanism: Mechanism, steps: IntArray) -> FloatArray:
    """Return the loads of private values, or refuse what is not one finite number for each."""
    loads = _drawn(mechanism, "from_grid()", lambda: mechanism.from_grid(steps), steps.shape)
    return _finite(mechanism, "from_grid()", loads)


def checked_simulation(
    mechanism: Mechanism, loads: FloatArray, random: np.random.Generator
) -> FloatArray:
    """Return simulated values of loads, or refuse what is not one finite number for each."""
    drawn = _drawn(mechanism, "simulate()", lambda: mechanism.simulate(loads, random), loads.shape)
    return _finite(mechanism, "simulate()", drawn)


def _whole(mechanism: Mechanism, method: str, found: NDArray[Any]) -> IntArray:
    if found.dtype.kind not in "iu" or (np.abs(found.astype(float)) > LARGEST).any():
        raise _broken(mechanism, method, f"must return whole numbers of at most {LARGEST}")
    return found.astype(np.int64, copy=False)


def _finite(mechanism: Mechanism, method: str, found: NDArray[Any]) -> FloatArray:
    if found.dtype.kind != "f" or not np.isfinite(found).all():
        raise _broken(mechanism, method, "must return finite numbers")
    return found


def _drawn(
    mechanism: Mechanism, method: str, draw: Callable[[], object], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Let a mechanism work with loads on the grid; errors about its settings are passed on."""
    return _seen(mechanism, method, draw, shape, passed_on=GridveilError)


def _seen(
    mechanism: Mechanism,
    method: str,
    work: Callable[[], object],
    shape: tuple[int, ...],
    passed_on: type[Exception] | tuple[()] = (),
) -> NDArray[Any]:
    """Let a mechanism see loads. Of what it raises no word is passed on: it may show raw loads."""
    try:
        found = work()
    except passed_on:
        raise
    except Exception as error:  # whatever the code of another package raises
        what = raised_where(error)
    else:
        if type(found) is not np.ndarray or found.shape != shape:
            raise _broken(mechanism, method, "must return an array of the shape of the loads")
        return found
    # Outside of the handler, so that the error has no context.
    raise _broken(
        mechanism, method, f"failed: {what}; what it says is not shown, since it saw raw loads"
    )


def _answers(mechanism: Mechanism) -> tuple[object, object, object, object]:
    """Return what a mechanism says of itself; whatever it raises names the mechanism."""
    try:
        return mechanism.name, mechanism.guarantee(), mechanism.step, mechanism.specification()
    except GridveilError:
        raise
    except Exception as error:  # whatever the code of another package raises
        raise GridveilError(
            f"mechanism {type(mechanism).__name__}: it cannot say what it is: "
            f"{type(error).__name__}: {error}"
        ) from error


def _check_guarantee(mechanism: Mechanism, promised: Guarantee) -> None:
    needed = (promised.epsilon, promised.delta, promised.step)
    optional = [
        value for value in (promised.distance, promised.scale, promised.floor) if value is not None
    ]
    finite = all(_is_finite(value) for value in (*needed, *optional))
    if not finite or not all(value > 0 for value in (promised.epsilon, promised.step, *optional)):
        raise _broken(mechanism, "guarantee()", "its numbers must be finite and above 0")
    relative = promised.kind is Metric.RELATIVE
    if promised.kind not in (Metric.ABSOLUTE, Metric.RELATIVE):
        raise _broken(mechanism, "guarantee()", "kind must be Metric.ABSOLUTE or Metric.RELATIVE")
    if relative != (promised.floor is not None) or (relative and promised.distance is None):
        raise _broken(mechanism, "guarantee()", "a relative one has a distance and a floor")
    if not 0 <= promised.delta < 1:
        raise _broken(mechanism, "guarantee()", "δ must be 0 or more, and below 1")
    texts = [f.name for f in fields(Guarantee) if f.type in (str, "str")]
    if not all(isinstance(getattr(promised, name), str) for name in texts):
        raise _broken(mechanism, "guarantee()", f"{', '.join(texts)} must be texts")
    uncovered: object = promised.not_covered
    if not isinstance(uncovered, list | tuple) or not all(
        isinstance(text, str) for text in uncovered
    ):
        raise _broken(mechanism, "guarantee()", "not_covered must hold texts")
    if promised.mechanism != mechanism.name:
        raise _broken(mechanism, "guarantee()", "must bear its name")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _broken(mechanism: Mechanism, method: str, rule: str) -> GridveilError:
    return GridveilError(f"mechanism {mechanism.name!r}: {method} {rule}; nothing was charged")
