"""What iterates the agents, seen from outside: some draws of one network, a stretch at a time."""

from typing import Protocol

from gridveil.admm.device import Device
from gridveil.admm.history import History
from gridveil.admm.state import State


class Machine(Protocol):
    """Runs of one network's agents, one for each draw, all as far as each other unless ended."""

    device: Device

    def advance(self, count: int) -> list[History]:
        """Do at most so many iterations of every draw; return the history of these.

        A draw whose residuals have both stayed within the tolerance for HOLD iterations is done,
        and so is one whose numbers have ended; its histories are empty from then on.
        """
        ...

    def calm(self, draw: int) -> float:
        """Return how many of a draw's last iterations had both residuals within the tolerance."""
        ...

    def state(self, draw: int) -> State:
        """Return where a draw stands."""
        ...
