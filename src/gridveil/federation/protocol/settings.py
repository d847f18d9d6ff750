"""What all members of a run must agree on."""

import hashlib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gridveil.admm.penalties import WINDOW
from gridveil.admm.policy import Policy
from gridveil.defaults import MECHANISM

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Run(BaseModel):
    """A run of a federation."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Annotated[str, Field(min_length=1, max_length=200)]
    """Of the release: the same id draws no second time."""
    parties: Annotated[tuple[str, ...], Field(min_length=1)]
    mechanism: str = MECHANISM
    epsilon: Annotated[str, Field(min_length=1)]
    """As text: one tenth is one tenth."""
    alpha: Annotated[str, Field(min_length=1)]
    beta: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    policy: Policy = Policy.FAST
    max_iterations: Annotated[int, Field(ge=1, le=10_000_000)] = 5000
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1e-5
    costs_derived: str = ""
    """A digest of O* where it comes from raw loads: an id stands for the costs of one day."""
    patience: _Positive = 30.0
    """Seconds without a word from a member after which the others stop."""

    @property
    def window(self) -> int:
        """After how many iterations the coordinator is asked."""
        return 1 if self.policy is Policy.PAPER else WINDOW

    def window_end(self, iteration: int) -> int:
        """Return the iteration after which the coordinator hears of this one."""
        return min(-(-iteration // self.window) * self.window, self.max_iterations)

    def digest(self) -> bytes:
        """Return what members compare before they begin; how patient each is plays no part."""
        text = self.model_dump_json(exclude={"patience"})
        return hashlib.sha256(text.encode()).digest()[:16]
