"""The interface of a backend, which iterates draws of one network, several iterations at a time."""

from typing import Protocol

from gridveil.admm.history import History
from gridveil.admm.state import State
from gridveil.device import Device


class Backend(Protocol):
    """Runs of one network's agents, one per draw, all at the same iteration unless finished."""

    device: Device

    def advance(self, count: int) -> list[History]:
        """Do at most so many iterations of every draw; return the history of these.

        A draw is finished once both residuals were within the tolerance for
        ITERATIONS_WITHIN_TOLERANCE iterations, or when a residual is not finite; its histories are
        empty from then on.
        """
        ...

    def within_tolerance_count(self, draw: int) -> float:
        """Return for how many consecutive iterations a draw has been within the tolerance."""
        ...

    def state(self, draw: int) -> State:
        """Return the current state of a draw."""
        ...
