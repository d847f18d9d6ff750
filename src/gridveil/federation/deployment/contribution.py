"""What a party publishes of itself at the end of a run: its released loads, and how it runs them.

Nothing of it is secret. The loads are private ones, moved to where the network works.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gridveil.errors import GridveilError, told_as_mistakes
from gridveil.federation.partition.slices import Slice
from gridveil.federation.protocol.party import Agreed
from gridveil.federation.protocol.settings import Run
from gridveil.files import read_file, write_atomically
from gridveil.opf.status import Status
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger import Entry

Finite = Annotated[float, Field(allow_inf_nan=False)]
_EXACT = r"^\d+(/[1-9]\d*)?$"
"""A number as a fraction."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReleasedLoad(_Part):
    """A released load, in p.u."""

    bus: int
    p: Finite
    q: Finite


class RunningGenerator(_Part):
    """A generator's output in p.u., and its public cost O* in $/h."""

    number: int
    p: Finite
    q: Finite
    public_cost: Finite


class RunningBus(_Part):
    """A bus's voltage, in p.u. and radians."""

    number: int
    v: Finite
    theta: Finite


class Contribution(_Part):
    """One party's part of a release."""

    format: Literal["gridveil-contribution-1"] = "gridveil-contribution-1"
    party: str
    network_id: str
    run: Run
    status: str
    iterations: int
    guarantee: dict[str, Any]
    drawn_at: str
    cumulative: Annotated[str, Field(pattern=_EXACT)]
    """The most any of its loads has spent, as an exact number."""
    distance_mva: Annotated[str, Field(pattern=_EXACT)] | None
    loads: tuple[ReleasedLoad, ...]
    generators: tuple[RunningGenerator, ...]
    buses: tuple[RunningBus, ...]


def contribution_of(
    part: Slice, run: Run, found: Agreed, guarantee: Guarantee, entry: Entry | None
) -> Contribution:
    """Return what a party publishes; `entry` is its ledger's, None without loads."""
    return Contribution(
        party=part.party,
        network_id=part.network_id,
        run=run,
        status=found.status.name,
        iterations=found.iterations,
        guarantee=asdict(guarantee),
        drawn_at="" if entry is None else entry.drawn_at,
        cumulative="0" if entry is None else str(entry.cumulative),
        distance_mva=None if entry is None or entry.distance is None else str(entry.distance),
        loads=tuple(
            ReleasedLoad(bus=load.bus, p=p, q=q)
            for load, p, q in zip(part.loads, found.p.tolist(), found.q.tolist(), strict=True)
        ),
        generators=tuple(
            RunningGenerator(number=gen.number, p=p, q=q, public_cost=gen.public_cost)
            for gen, p, q in zip(
                part.generators, found.point.p.tolist(), found.point.q.tolist(), strict=True
            )
        ),
        buses=tuple(
            RunningBus(number=bus.number, v=v, theta=theta)
            for bus, v, theta in zip(
                part.buses, found.point.v.tolist(), found.point.theta.tolist(), strict=True
            )
        ),
    )


def write_contribution(contribution: Contribution, path: Path) -> None:
    """Write a contribution, whole or not at all."""
    write_atomically(path, contribution.model_dump_json(indent=1).encode() + b"\n")


def read_contribution(path: Path) -> Contribution:
    """Read a contribution, or say what is wrong with it."""
    with told_as_mistakes(path):
        contribution = Contribution.model_validate_json(read_file(path))
    if contribution.status not in Status.__members__:
        raise GridveilError(f"{path}: status: {contribution.status!r} is unknown")
    return contribution
