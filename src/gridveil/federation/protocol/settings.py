"""The settings of a run, which all members share."""

import hashlib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gridveil.admm.penalties import WINDOW
from gridveil.admm.policy import Policy
from gridveil.defaults import MAX_ITERATIONS, TOLERANCE

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_DIGEST_BYTES = 16


class Run(BaseModel):
    """The settings of one run of a federation."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Annotated[str, Field(min_length=1, max_length=200)]
    """The release id: a party draws noise only once for an id."""
    parties: Annotated[tuple[str, ...], Field(min_length=1)]
    mechanism: str = "polar-laplace"
    """Where a configuration does not say: what it was when only one could be meant."""
    epsilon: Annotated[str, Field(min_length=1)]
    """As text, so that one tenth is exactly one tenth."""
    alpha: Annotated[str, Field(min_length=1)]
    """In p.u., or a part of the load for a mechanism whose distance is relative, as text."""
    floor: str | None = None
    """Of a relative distance, in p.u., as text."""
    beta: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    policy: Policy = Policy.FAST
    max_iterations: Annotated[int, Field(ge=1, le=10_000_000)] = MAX_ITERATIONS
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = TOLERANCE
    """Of the residuals, in p.u."""
    costs_derived: str = ""
    """Digest of O* if they were computed from the raw loads: an id is valid for one day's costs."""
    costs_private: bool = False
    """Whether O* were computed from the private loads of this run."""
    patience: _Positive = 30.0
    """Seconds without a message from a member after which the others stop."""

    @property
    def window(self) -> int:
        """Iterations between two decisions of the coordinator."""
        return 1 if self.policy is Policy.PAPER else WINDOW

    def window_end(self, iteration: int) -> int:
        """Return the iteration after which this one is reported to the coordinator."""
        return min(-(-iteration // self.window) * self.window, self.max_iterations)

    def digest(self) -> bytes:
        """Return the digest that members compare in the handshake; their patience may differ."""
        # What earlier versions did not have counts where it is used, so that digests stay.
        left_out = {"patience"} if self.costs_private else {"patience", "costs_private"}
        if self.floor is None:
            left_out.add("floor")
        text = self.model_dump_json(exclude=left_out)
        return hashlib.sha256(text.encode()).digest()[:_DIGEST_BYTES]
