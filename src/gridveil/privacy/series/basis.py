"""The public integer bases that series are measured in: cosines of whole numbers of half waves."""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError

BITS = 16
"""Entries of a basis are whole numbers of 2^-16, so that no doubles touch private data."""
MOST_ENTRIES = 2**26
"""Of a basis: 256 coefficients of the longest block; a false certificate could fill memory."""
RATE_BITS = 80
"""Rates are whole numbers of 2^-80, rounded down, so that hourly losses add up exactly."""


@dataclass(frozen=True)
class Basis:
    """The coefficients that are released of every block of consecutive hours, and what each costs.

    Row j of B is round(2^16 × the row of the orthonormal DCT-II of frequency f_j), in half waves a
    block. It need not be orthonormal: the proof takes the whole numbers as they are.

    Example:
        >>> basis = Basis.even(24, (0, 1, 2))
        >>> basis.rows[0, :2].tolist(), basis.norms.tolist()
        ([13377, 13377], [321048, 289262, 289884])
        >>> float(sum(basis.hourly_shares))
        1.0
    """

    length: int
    """The hours of a block."""
    frequencies: tuple[int, ...]
    shares: tuple[int, ...]
    """The part of ε that each coefficient costs, in whole numbers of their sum."""

    def __post_init__(self) -> None:
        if not 0 < len(self.frequencies) == len(self.shares) <= self.length:
            raise GridveilError("basis: from one coefficient a block to one an hour, each a share")
        if self.length * len(self.frequencies) > MOST_ENTRIES:
            raise GridveilError(f"basis: has more than {MOST_ENTRIES:,} entries")
        if len(set(self.frequencies)) < len(self.frequencies) or not all(
            0 <= frequency < self.length for frequency in self.frequencies
        ):
            raise GridveilError("basis: frequencies are whole numbers below the hours of a block")
        if min(self.shares) <= 0:
            raise GridveilError("basis: every coefficient needs a share of ε above 0")

    @classmethod
    def even(cls, length: int, frequencies: tuple[int, ...]) -> "Basis":
        """Return the basis whose coefficients cost the same."""
        return cls(length, frequencies, (1,) * len(frequencies))

    @classmethod
    def hourly(cls) -> "Basis":
        """Return the basis of single hours."""
        return cls.even(1, (0,))

    @property
    def unit(self) -> int:
        """What 1 is in whole numbers of the basis: single hours need no fractions."""
        return 1 if self.length == 1 else 2**BITS

    @cached_property
    def rows(self) -> IntArray:
        """B: a row for each coefficient, a column for each hour of the block."""
        t, f = np.arange(self.length), np.array(self.frequencies)[:, None]
        turns = (2 * t + 1) * f % (4 * self.length)  # exact, so that angles are small
        waves = np.cos(np.pi * turns / (2 * self.length))
        size = np.sqrt(np.where(f == 0, 1.0, 2.0) / self.length)
        found: IntArray = np.rint(self.unit * size * waves).astype(np.int64)
        found.setflags(write=False)
        return found

    @cached_property
    def norms(self) -> IntArray:
        """‖B_j‖₁ of every row."""
        return np.asarray(np.abs(self.rows).sum(axis=1))

    @property
    def directions(self) -> FloatArray:
        """B as numbers near 1, for what is done with released coefficients."""
        return self.rows / self.unit

    @cached_property
    def rates(self) -> tuple[Fraction, ...]:
        """r_j: a change of row j's coefficient by 1 costs that part of ε, divided by D.

        Share_j/‖B_j‖₁, rounded down to a whole number of 2^-80.
        """
        every = sum(self.shares)
        return tuple(
            Fraction((share << RATE_BITS) // (every * int(norm)), 1 << RATE_BITS)
            for share, norm in zip(self.shares, self.norms, strict=True)
        )

    @cached_property
    def hourly_shares(self) -> tuple[Fraction, ...]:
        """The part of ε that a change in each hour of a block may cost; they add up to 1.

        Σ_j |B_j(t)|·r_j; what rounding leaves of 1 is added to the first hour.
        """
        of_rate = [int(rate * (1 << RATE_BITS)) for rate in self.rates]
        whole = [
            sum(rate * size for rate, size in zip(of_rate, column, strict=True))
            for column in np.abs(self.rows).T.tolist()
        ]
        whole[0] += (1 << RATE_BITS) - sum(whole)
        return tuple(Fraction(part, 1 << RATE_BITS) for part in whole)

    @property
    def digest(self) -> str:
        """SHA-256 of the rows as big-endian 64-bit numbers."""
        return hashlib.sha256(self.rows.astype(">i8").tobytes()).hexdigest()
