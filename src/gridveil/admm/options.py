"""Options of the agents, and the progress of a run."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.defaults import MAX_ITERATIONS, TOLERANCE
from gridveil.device import Device, as_device
from gridveil.errors import GridveilError


def _print_to_stderr(text: str) -> None:
    print(text, file=sys.stderr)


@dataclass(frozen=True)
class Progress:
    """The progress of a run; of several draws, that of the one with the largest residual."""

    iteration: int
    primal: float
    dual: float
    objective: float


@dataclass(frozen=True)
class AgentOptions:
    """Options of the agents, for method "admm".

    Args:
        policy: How the penalties ρ change: "fast", or "paper" to reproduce the paper.
        max_iterations: The largest number of iterations.
        tolerance: Of the largest primal and dual residual, in p.u.
        time_limit: In seconds of iterating.
        polish: Whether a central solver takes the last step, to violations below 1e-6. None means
            as the occasion needs: a release polishes, a study does not.
        checkpoint: A file to write the run to regularly, and to continue from.
        checkpoint_seconds: The time from one checkpoint to the next.
        progress: Called with the progress of a run, several times a second.
        notify: Called with messages for the user, such as that compilation takes a while; by
            default they go to standard error.
        device: Where the agents run; None takes that of `using`, or else the CPU. A GPU adds in
            another order, so its last bits differ.
        start: The copies before the first iteration: "flat", or "flow", a power flow, for which all
            noisy loads must be in one place.

    Raises:
        GridveilError: An option has a value that is not allowed.

    Example:
        >>> options = AgentOptions("paper", max_iterations=100)
        >>> options.policy, options.tolerance
        (<Policy.PAPER: 'paper'>, 1e-05)
    """

    policy: Policy = Policy.FAST
    max_iterations: int = MAX_ITERATIONS
    tolerance: float = TOLERANCE
    time_limit: float = np.inf
    polish: bool | None = None
    checkpoint: Path | str | None = None
    checkpoint_seconds: float = 10.0
    progress: Callable[[Progress], None] | None = None
    notify: Callable[[str], None] = _print_to_stderr
    device: Device | None = None
    start: Start = Start.AUTO

    def __post_init__(self) -> None:
        if self.device is not None:
            object.__setattr__(self, "device", as_device(self.device))
        for name, kind in (("policy", Policy), ("start", Start)):
            given = getattr(self, name)
            if given not in list(kind):
                raise GridveilError(f"{name}: {given!r} is none of {', '.join(kind)}")
            object.__setattr__(self, name, kind(given))
        object.__setattr__(self, "tolerance", float(self.tolerance))
        object.__setattr__(self, "max_iterations", int(self.max_iterations))
        if not self.max_iterations >= 1:
            raise GridveilError(f"max_iterations: {self.max_iterations} must be 1 or more")
        if not 0 <= self.tolerance < np.inf:
            raise GridveilError(
                f"tolerance: {self.tolerance} must be 0 or more; {TOLERANCE:g} is usual"
            )
        if not self.time_limit > 0:
            raise GridveilError(f"time_limit: {self.time_limit} must be above 0 seconds")
