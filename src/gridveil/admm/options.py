"""How the agents run, and what they tell meanwhile."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.admm.device import Device
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.errors import GridveilError


def _print(text: str) -> None:
    print(text, file=sys.stderr)


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for whoever watches it."""

    iteration: int
    primal: float
    dual: float
    objective: float


@dataclass(frozen=True)
class AgentOptions:
    """How the agents run."""

    policy: Policy = Policy.FAST
    max_iterations: int = 5000
    tolerance: float = 1e-5
    """Of the largest primal and dual residual, in p.u."""
    time_limit: float = np.inf
    """In seconds, of iterating."""
    polish: bool = False
    """Whether a central solver takes the last step, to violations below 1e-6."""
    checkpoint: Path | str | None = None
    """A file to write the run to now and then, and to go on from."""
    checkpoint_seconds: float = 10.0
    """How often."""
    progress: Callable[[Progress], None] | None = None
    say: Callable[[str], None] = _print
    """Told what a user should know at once: that compilation takes a while, for example."""
    device: Device = Device.CPU
    """Where they run. A GPU adds up in another order, so its last bits differ."""
    start: Start = Start.AUTO
    """From where they set out: flat, or with a power flow, which needs everybody's noisy loads."""

    def __post_init__(self) -> None:
        for name, kind in (("policy", Policy), ("device", Device), ("start", Start)):
            given, (*others, last) = getattr(self, name), (repr(str(one)) for one in kind)
            if given not in list(kind):
                raise GridveilError(f"{name}: {given!r} is neither {', '.join(others)} nor {last}")
            object.__setattr__(self, name, kind(given))
        object.__setattr__(self, "tolerance", float(self.tolerance))
        object.__setattr__(self, "max_iterations", int(self.max_iterations))
        if not self.max_iterations >= 1:
            raise GridveilError(f"max_iterations: {self.max_iterations} must be 1 or more")
        if not 0 <= self.tolerance < np.inf:
            raise GridveilError(f"tolerance: {self.tolerance} must be 0 or more; 1e-5 is usual")
        if not self.time_limit > 0:
            raise GridveilError(f"time_limit: {self.time_limit} must be above 0 seconds")
