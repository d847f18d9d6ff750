"""The exact matrix Laplace mechanism for load series, δ = 0.

The hours of a release are cut into blocks of w hours: w = 1 for `energy`, 24 for `day`, all hours
for `window`; hours that the last block lacks count as loads of zero. Loads are rounded to whole
numbers n_t of a public step γ = α/M. Of every block B·n_P and B·n_Q are released, with a public
matrix B of whole numbers, plus independent discrete Laplace noise of scale b_j on coefficient j.

Proof. (1) Rounding to the nearest step moves a number by half a step at most, so P and Q of an hour
that move by |ΔP| + |ΔQ| ≤ d move by at most d/γ + 2 steps (L1). Clamping at public numbers brings
no two numbers further apart. Let r_j be the rates of the basis, Σ_j r_j·‖B_j‖₁ ≤ 1, and
b_j ≥ D/(ε·r_j). Noise z has a probability ∝ exp(−|z|/b_j). So the probabilities of any output, for
two series whose P and Q differ by s_t steps (L1) in hour t, differ by a factor of at most exp of

    Σ_j Σ_t |B_j(t)|·s_t/b_j ≤ (ε/D)·Σ_t s_t·Σ_j |B_j(t)|·r_j ≤ Σ_t (s_t/D)·ε·h(t)

with h(t) the hourly shares of the basis, which add up to 1 over each block.

(2) `day`, `window`: D = M + 2, so s_t ≤ D for a change of α: an hour loses ℓ(t) = ε·h(t) at most.
Changes within hours W lose Σ_{t∈W} ℓ(t). A window of w hours lies in one block, or takes the last
hours of one and the first of the next: each place in a block at most once. So it loses at most ε.
A change of d > α comes to at most (d/α)·D steps, so it loses d/α times as much at most.

(3) `energy`: w = 1 and h = 1. Neighbours change by Σ_t (|ΔP_t| + |ΔQ_t|) ≤ α·1 h, hence by
Σ_t s_t ≤ M + 2·T steps over T hours, T ≤ H = 2^18 (30 years): with D = M + 2·H at most ε is lost.
Nor is it more for all releases of a load together, if E_t, the sum of ε over the releases that have
hour t, is at most ε in each of up to H hours: Σ_t E_t·s_t/D ≤ max_t E_t. So disjoint hours cost
nothing more, and the ledger counts the worst hour. ∎

Nothing overflows: |n_t| ≤ N with N·‖B_j‖₁ ≤ 2^52, so that B·n and all its partial sums are below
2^52; scales are at most 2^40, and noise exceeds 2^52 with a probability below e^-4000.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.privacy.calibration import WIDEST, Number, double_at_least, exact
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.ledger.records import Hours
from gridveil.privacy.sampling.exact import discrete_laplace
from gridveil.privacy.sampling.grid import LARGEST_LOAD
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.promise import SeriesPromise, SeriesPromiseKind

NAME = "series-laplace"
STEPS = 1000
"""M of `day` and `window`: into how many steps α is divided."""
ENERGY_STEPS = 2**30
"""M of `energy`, whose rounding adds up over all hours."""
MOST_HOURS = 2**18
"""H: over how many hours, of all releases of a load together, rounding is accounted for."""


def alpha_steps(kind: SeriesPromiseKind) -> int:
    """Return M, the steps that α is divided into."""
    return ENERGY_STEPS if kind is SeriesPromiseKind.ENERGY else STEPS


def distance_steps(kind: SeriesPromiseKind) -> int:
    """Return D, the steps that a change of α comes to after rounding."""
    return alpha_steps(kind) + 2 * (MOST_HOURS if kind is SeriesPromiseKind.ENERGY else 1)


def scales_of(promise: SeriesPromise, basis: Basis) -> tuple[float, ...]:
    """Return b_j of each coefficient: the least double that is at least D/(ε·r_j)."""
    unit = distance_steps(promise.kind) / promise.epsilon
    return tuple(double_at_least(unit / rate) for rate in basis.rates)


def noise_scales(promise: SeriesPromise, basis: Basis) -> FloatArray:
    """Return the scales of the noise on what `basis.directions` measure, in α."""
    return np.array(scales_of(promise, basis)) / (basis.unit * alpha_steps(promise.kind))


def can_be_drawn(promise: SeriesPromise, basis: Basis) -> bool:
    """Return whether no noise scale is beyond what is ever drawn."""
    return max(scales_of(promise, basis)) <= WIDEST


@dataclass(frozen=True)
class SeriesMechanism:
    """What draws the release of a load series. Series on the grid: shape (loads, 2, hours).

    Coefficients have the shape (loads, 2, blocks, coefficients of a block); 2 is for P and Q.

    Example:
        >>> from gridveil.privacy.series.promise import SeriesPromise
        >>> promise = SeriesPromise.of("day", 1, "5MVA")
        >>> made = series_mechanism(promise, 100, promise.alphas(2, 100), first_hour=0, hours=48)
        >>> made.blocks, made.distance_steps, float(sum(made.hourly_losses().losses))
        (2, 1002, 2.0)
    """

    promise: SeriesPromise
    base_mva: Fraction
    alphas: tuple[Fraction, ...]
    """α of each load in p.u., for `energy` in p.u. times one hour."""
    first_hour: int
    hours: int
    basis: Basis

    def __post_init__(self) -> None:
        if not self.alphas or min(self.alphas) <= 0:
            raise GridveilError("hide: every load needs a distance above 0")
        if not 0 < self.hours <= MOST_HOURS:
            raise GridveilError(f"a release has from 1 to {MOST_HOURS} hours, not {self.hours}")
        if self.basis.length != self.block_hours(self.promise.kind, self.hours):
            raise GridveilError(f"the basis of {self.promise.kind.value} has blocks of its window")
        if not can_be_drawn(self.promise, self.basis):
            raise GridveilError(
                f"epsilon = {float(self.promise.epsilon):g} asks for wider noise than can be "
                "drawn; raise epsilon, or release fewer hours at once"
            )

    @staticmethod
    def block_hours(kind: SeriesPromiseKind, hours: int) -> int:
        """Return w, the hours of a block."""
        if kind is SeriesPromiseKind.ENERGY:
            return 1
        return 24 if kind is SeriesPromiseKind.DAY else hours

    @property
    def loads(self) -> int:
        """How many loads it is for."""
        return len(self.alphas)

    @property
    def blocks(self) -> int:
        """How many blocks there are, the last one perhaps with fewer hours."""
        return -(-self.hours // self.basis.length)

    @property
    def alpha_steps(self) -> int:
        """M, the steps that α is divided into."""
        return alpha_steps(self.promise.kind)

    @property
    def distance_steps(self) -> int:
        """D, the steps that a change of α comes to after rounding."""
        return distance_steps(self.promise.kind)

    @cached_property
    def steps(self) -> tuple[Fraction, ...]:
        """γ of each load in p.u."""
        return tuple(alpha / self.alpha_steps for alpha in self.alphas)

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """b_j of each coefficient: the least double that is at least D/(ε·r_j)."""
        return scales_of(self.promise, self.basis)

    @property
    def largest(self) -> int:
        """N, the most steps that a load may have; those beyond are clamped to it."""
        return LARGEST_LOAD // int(self.basis.norms.max())

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of its coefficients."""
        return self.loads, 2, self.blocks, len(self.basis.frequencies)

    def hourly_losses(self) -> Hours:
        """Return what each hour of each load loses, as the ledger takes it.

        Those of each block add up to ε; for `energy` each hour loses ε.
        """
        of_block = [self.promise.epsilon * share for share in self.basis.hourly_shares]
        return Hours(self.first_hour, tuple((of_block * self.blocks)[: self.hours]))

    def to_grid(self, p: FloatArray, q: FloatArray) -> IntArray:
        """Return loads in p.u., of shape (hours, loads), in whole steps; exact, and clamped."""
        return np.array(
            [
                [_rounded(values[:, i], step, self.largest) for values in (p, q)]
                for i, step in enumerate(self.steps)
            ],
            dtype=np.int64,
        )

    def coefficients(self, steps: IntArray) -> IntArray:
        """Return B·n of every block, without noise: as protected as the loads are."""
        width = self.basis.length
        whole = np.zeros((*steps.shape[:-1], self.blocks * width), dtype=np.int64)
        whole[..., : self.hours] = steps
        return np.asarray(whole.reshape(*steps.shape[:-1], self.blocks, width) @ self.basis.rows.T)

    def release(self, steps: IntArray) -> IntArray:
        """Return private coefficients of loads on the grid: exact, from the system's entropy."""
        found = self.coefficients(steps)
        for j, scale in enumerate(self.scales):
            part = found[..., j]
            found[..., j] = part + discrete_laplace(part.size, scale).reshape(part.shape)
        return found

    def simulate(self, steps: IntArray, random: np.random.Generator) -> IntArray:
        """Return coefficients for studies: fast, seeded and NOT private."""
        found = self.coefficients(steps)
        noise = random.laplace(0.0, np.array(self.scales), found.shape)
        return np.asarray(found + np.rint(noise).astype(np.int64))

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return ln P(output | one) − ln P(output | other), as the proof has it.

        Args:
            output: Coefficients, of shape (..., loads, 2, blocks, coefficients).
            one: Loads on the grid.
            other: Loads on the grid.
        """
        far = np.abs(output - self.coefficients(other))
        near = np.abs(output - self.coefficients(one))
        return np.asarray(((far - near) / np.array(self.scales)).sum(axis=(-4, -3, -2, -1)))

    def measured(self, coefficients: IntArray) -> FloatArray:
        """Return coefficients in p.u.: what the rows of `basis.directions` measure of a load."""
        steps = np.array([float(step) for step in self.steps])
        return np.asarray(coefficients * (steps[:, None, None, None] / self.basis.unit))

    def noise_variances(self) -> FloatArray:
        """Return the variance of each measured coefficient of every load, in p.u.², by load."""
        alphas = np.array([float(alpha) for alpha in self.alphas])
        return np.asarray(2 * (alphas[:, None] * noise_scales(self.promise, self.basis)) ** 2)

    def noise_covariance(self, load: int) -> FloatArray:
        """Return the covariance of one block's measured coefficients of a load: a diagonal."""
        return np.diag(self.noise_variances()[load])

    def reconstruct(self, coefficients: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return P and Q in p.u., of shape (hours, loads): the least with these coefficients.

        Post-processing, without any smoothing.
        """
        inverse = np.linalg.pinv(self.basis.directions)
        series = self.measured(coefficients) @ inverse.T
        p, q = series.reshape(self.loads, 2, -1)[..., : self.hours].transpose(1, 2, 0)
        return np.ascontiguousarray(p), np.ascontiguousarray(q)

    def specification(self) -> dict[str, str]:
        """Return every parameter, so that two mechanisms with the same one are the same."""
        return {
            "mechanism": NAME,
            "promise": self.promise.kind.value,
            "epsilon": str(self.promise.epsilon),
            "hide": str(self.promise.hide.amount),
            "hidden_in": self.promise.hide.unit.value,
            "base_mva": str(self.base_mva),
            "alphas": json.dumps([str(alpha) for alpha in self.alphas]),
            "first_hour": str(self.first_hour),
            "hours": str(self.hours),
            "block_hours": str(self.basis.length),
            "frequencies": json.dumps(self.basis.frequencies),
            "shares": json.dumps(self.basis.shares),
            "basis_digest": self.basis.digest,
        }

    @property
    def basis_digest(self) -> str:
        """The digest of the whole numbers of the basis."""
        return self.basis.digest

    @classmethod
    def from_specification(cls, parameters: Mapping[str, str]) -> "SeriesMechanism":
        """Make the mechanism from its specification, which has one spelling.

        Raises:
            GridveilError: It is none.
        """
        try:
            epsilon = exact(parameters["epsilon"], "epsilon")
            hide = Hide(exact(parameters["hide"], "hide"), HiddenIn(parameters["hidden_in"]))
            basis = Basis(
                int(parameters["block_hours"]),
                tuple(int(f) for f in json.loads(parameters["frequencies"])),
                tuple(int(share) for share in json.loads(parameters["shares"])),
            )
            made = cls(
                SeriesPromise(SeriesPromiseKind(parameters["promise"]), epsilon, hide),
                exact(parameters["base_mva"], "base"),
                tuple(exact(alpha, "alpha") for alpha in json.loads(parameters["alphas"])),
                int(parameters["first_hour"]),
                int(parameters["hours"]),
                basis,
            )
        except (KeyError, ValueError, TypeError, RecursionError, ZeroDivisionError) as error:
            raise GridveilError("parameters: not those of a series mechanism") from error
        if made.specification() != {name: parameters.get(name) for name in made.specification()}:
            raise GridveilError("parameters: not those of a series mechanism")
        return made

    def proof(self) -> dict[str, object]:
        """Return the numbers of the proof, for the certificate."""
        return {
            "alpha_steps": self.alpha_steps,
            "distance_steps": self.distance_steps,
            "scales": list(self.scales),
            "largest_steps": self.largest,
            "blocks": self.blocks,
            "block_hours": self.basis.length,
            "basis_digest": self.basis.digest,
        }


def series_mechanism(
    promise: SeriesPromise,
    base_mva: Number,
    alphas: tuple[Fraction, ...],
    first_hour: int,
    hours: int,
    basis: Basis | None = None,
) -> SeriesMechanism:
    """Return the mechanism that keeps a promise.

    Args:
        promise: What is hidden.
        base_mva: The base of per unit.
        alphas: α of each load in p.u., as `SeriesPromise.alphas` gives them.
        first_hour: The first hour of the release, in hours since 1970-01-01 00:00 UTC.
        hours: How many hours it has.
        basis: What is measured of each block; None takes the lowest frequencies.

    Raises:
        GridveilError: The numbers cannot be those of a release.
    """
    if basis is None:
        width = SeriesMechanism.block_hours(promise.kind, hours)
        basis = Basis.even(width, tuple(range(min(4, width))))
    return SeriesMechanism(promise, exact(base_mva, "base"), alphas, first_hour, hours, basis)


def _rounded(values: FloatArray, step: Fraction, largest: int) -> list[int]:
    """Return values in whole steps, the nearest (of two the upper one), within ±largest."""
    numerator, denominator = step.numerator, step.denominator
    found = []
    for value in np.clip(values, -sys.float_info.max, sys.float_info.max).tolist():
        over, under = value.as_integer_ratio()
        nearest = (2 * over * denominator + numerator * under) // (2 * numerator * under)
        found.append(max(-largest, min(largest, nearest)))
    return found
