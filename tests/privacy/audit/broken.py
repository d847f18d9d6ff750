"""Mechanisms that claim what product or polar Laplace do, each with a leak of its own.

Their noise is quick: NumPy's generators in place of the exact samplers. It stands in a module of
its own, so that fresh processes import it and have module state of their own.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace

SEEDED = np.random.default_rng(7)
"""The same in every process."""
UNSEEDED = np.random.default_rng()
"""Another one in every process, but copied by a fork."""


@dataclass(frozen=True)
class Product(ProductLaplace):
    """Discrete Laplace noise: sound, but for the generator."""

    def generator(self):
        return np.random.default_rng()

    def noise(self, count):
        success = -np.expm1(-1 / self.calibration.scale)
        first, second = self.generator().geometric(success, (2, count, 2))
        return first - second

    def release(self, loads):
        return loads + self.noise(len(loads))


@dataclass(frozen=True)
class Polar(PolarLaplace):
    """Planar Laplace noise, rounded: sound but for the generator and a hair."""

    longest = np.inf

    def generator(self):
        return np.random.default_rng()

    def noise(self, count):
        random, scale = self.generator(), self.calibration.scale
        radius = np.minimum(random.gamma(2, scale, count), self.longest * scale)
        angle = random.random(count) * 2 * np.pi
        polar = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return np.rint(polar).astype(np.int64)

    def release(self, loads):
        return loads + self.noise(len(loads))


class InHundreds:
    """Noise in multiples of 100 grid steps: low digits are published."""

    def noise(self, count):
        return np.rint(super().noise(count) / 100).astype(np.int64) * 100


class PublicSeed:
    """Noise from a seed that stands in the code."""

    def generator(self):
        return np.random.default_rng(7)


class RawNowAndThen:
    """The raw load once in 5,000 releases."""

    def noise(self, count):
        noise = super().noise(count)
        noise[np.random.default_rng().random(count) < 1 / 5000] = 0
        return noise


class CutOff:
    """P and Q of the noise are at most five scales."""

    def noise(self, count):
        longest = int(5 * self.calibration.scale)
        return np.clip(super().noise(count), -longest, longest)


class Redrawn:
    """Noise of more than five scales in P or Q is drawn again."""

    def noise(self, count):
        noise = super().noise(count)
        far = (np.abs(noise) > 5 * self.calibration.scale).any(axis=1)
        if far.any():
            noise[far] = self.noise(int(far.sum()))
        return noise


class ProcessSeed:
    """A generator of the process with a seed in the code."""

    def generator(self):
        return SEEDED


class ForkedState:
    """A generator of the process, seeded by the operating system, but only once."""

    def generator(self):
        return UNSEEDED


@dataclass(frozen=True)
class InHundredsProduct(InHundreds, Product):
    pass


@dataclass(frozen=True)
class InHundredsPolar(InHundreds, Polar):
    pass


@dataclass(frozen=True)
class PublicSeedProduct(PublicSeed, Product):
    pass


@dataclass(frozen=True)
class PublicSeedPolar(PublicSeed, Polar):
    pass


@dataclass(frozen=True)
class RawNowAndThenProduct(RawNowAndThen, Product):
    pass


@dataclass(frozen=True)
class RawNowAndThenPolar(RawNowAndThen, Polar):
    pass


@dataclass(frozen=True)
class CutOffProduct(CutOff, Product):
    pass


@dataclass(frozen=True)
class RedrawnProduct(Redrawn, Product):
    pass


@dataclass(frozen=True)
class CutOffPolar(CutOff, Polar):
    pass


@dataclass(frozen=True)
class ShortPolar(Polar):
    """A radius of at most five scales."""

    longest = 5


@dataclass(frozen=True)
class ProcessSeedProduct(ProcessSeed, Product):
    pass


@dataclass(frozen=True)
class ForkedStateProduct(ForkedState, Product):
    pass


@dataclass(frozen=True)
class SameForQ(Product):
    """The same noise on P and Q."""

    def noise(self, count):
        return np.repeat(super().noise(count)[:, :1], 2, axis=1)


@dataclass(frozen=True)
class OppositeForQ(Product):
    """Opposite noise on P and Q."""

    def noise(self, count):
        return super().noise(count)[:, :1] * np.array([1, -1])


@dataclass(frozen=True)
class SameForAllLoads(Product):
    """One draw for all loads of a call."""

    def noise(self, count):
        return np.repeat(super().noise(1), count, axis=0)


@dataclass(frozen=True)
class ComesAgain(Product):
    """The noise of a call comes again after 997 loads."""

    def noise(self, count):
        return np.resize(super().noise(997), (count, 2))


@dataclass(frozen=True)
class AddsTheNextLoad(Product):
    """A load's output is off by ten times the load before it."""

    def noise(self, count):
        return super().noise(count)

    def release(self, loads):
        return super().release(loads) + 10 * np.roll(loads, 1, axis=0)


@dataclass(frozen=True)
class FirstExact(Product):
    """The first load of every call is published as it is."""

    def noise(self, count):
        noise = super().noise(count)
        noise[0] = 0
        return noise


@dataclass(frozen=True)
class LastExact(Product):
    """The last load of every call is published as it is."""

    def noise(self, count):
        noise = super().noise(count)
        noise[-1] = 0
        return noise


@dataclass(frozen=True)
class Parity(Product):
    """An output is odd where its load is."""

    def noise(self, count):
        return super().noise(count) // 2 * 2
