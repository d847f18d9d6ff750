"""The result of a run of the agents."""

from dataclasses import dataclass, field

import numpy as np

from gridveil.admm.history import History
from gridveil.admm.state import State
from gridveil.device import Device
from gridveil.opf.status import Status


@dataclass(frozen=True, eq=False)
class AgentRun:
    """The result of a run of the agents."""

    status: Status
    state: State = field(repr=False)
    history: History = field(repr=False)
    seconds: float
    """Time of iterating since the run was started or resumed, without compilation."""
    iterations_done: int
    """The iterations done in that time."""
    device: Device
    """Where it ran."""

    @property
    def iterations(self) -> int:
        """The iterations done, those before a checkpoint included."""
        return len(self.history)

    @property
    def iterations_per_second(self) -> float:
        """The mean number of iterations per second."""
        return self.iterations_done / self.seconds if self.seconds > 0 else np.nan

    @property
    def primal(self) -> float:
        """The largest primal residual at the end, in p.u."""
        return float(self.history.primal[-1]) if len(self.history) else np.inf

    @property
    def dual(self) -> float:
        """The largest dual residual at the end."""
        return float(self.history.dual[-1]) if len(self.history) else np.inf
