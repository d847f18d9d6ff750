"""What a protected quantity is: the interface of ours and of those of other packages.

A quantity belongs to elements, such as the circuits or the generators of a network, and has a few
coordinates in each. It says where its values stand, who they belong to, and what else of a case
gives them away. The noise is the same for all (log_laplace.py); `registry.py` has them by name.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.network.network import Network

OF_A_KIND = "several releases of the same element: their ε add up"


class ProtectedQuantity(ABC):
    """A kind of numbers that a promise can be about.

    Zeros, signs and limits that are infinite, which stand for none, are public.
    """

    name: ClassVar[str]
    """Its name in the registry, in the ledger and in specifications."""
    element: ClassVar[str]
    """What it is a quantity of, for sentences: "a circuit"."""
    unit: ClassVar[str]
    """What a promise protects, in words."""
    coordinates: ClassVar[tuple[str, ...]]
    """Its numbers in each element, in the order of the columns of `values`."""
    not_covered: ClassVar[tuple[str, ...]]
    """What a promise says nothing of, in words."""
    cleared: ClassVar[tuple[tuple[str, str, float], ...]]
    """Columns of a case that give it away: table, column, and what stands there instead."""

    @classmethod
    @abstractmethod
    def keys(cls, network: Network) -> tuple[str, ...]:
        """Return what each element is called in a ledger, by public facts alone."""

    @classmethod
    @abstractmethod
    def values(cls, network: Network) -> FloatArray:
        """Return its values, of shape (elements, coordinates), in p.u.

        Raises:
            GridveilError: The network has numbers of a form that cannot be protected.
        """

    @classmethod
    @abstractmethod
    def with_values(cls, network: Network, values: FloatArray) -> Network:
        """Return the same network with other values of the same signs."""

    @classmethod
    @abstractmethod
    def write(cls, network: Network, tables: dict[str, FloatArray]) -> None:
        """Write its present values into tables of a case, and nothing into rows out of service."""


def is_protected(values: FloatArray) -> BoolArray:
    """Return which values are protected: zeros and infinite limits are public."""
    return np.asarray(np.isfinite(values) & (values != 0))
