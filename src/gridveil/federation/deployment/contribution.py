"""What a party publishes at the end of a run: its released loads, and the operating point.

All of it is public. The loads are noisy ones, moved to where the network works.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gridveil.errors import GridveilError, document_errors
from gridveil.federation.partition.slices import Slice
from gridveil.federation.protocol.party import PartyResult
from gridveil.federation.protocol.settings import Run
from gridveil.files import read_file, write_atomically
from gridveil.opf.status import Status
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger.records import Entry

Finite = Annotated[float, Field(allow_inf_nan=False)]
_FRACTION = r"^\d+(/[1-9]\d*)?$"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReleasedLoad(_Record):
    """A released load, in p.u."""

    bus: int
    number: Annotated[int, Field(ge=1)] = 1
    """Which load of the bus it is."""
    p: Finite
    q: Finite


class DispatchedGenerator(_Record):
    """A generator's output in p.u., and its public cost O* in $/h."""

    number: int
    p: Finite
    q: Finite
    public_cost: Finite


class BusVoltage(_Record):
    """A bus's voltage, in p.u. and radians."""

    number: int
    v: Finite
    theta: Finite


class LedgerSeal(_Record):
    """The row of a party's ledger."""

    ledger: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    opened_at: str
    row: Annotated[int, Field(ge=1, le=2**53)]
    head: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    is_first: bool


class Contribution(_Record):
    """One party's part of a release."""

    format: Literal["gridveil-contribution-1"] = "gridveil-contribution-1"
    party: str
    network_id: str
    run: Run
    status: str
    iterations: int
    guarantee: dict[str, Any]
    drawn_at: str
    cumulative: Annotated[str, Field(pattern=_FRACTION)]
    """The most that any of its loads has spent, as an exact number."""
    distance_mva: Annotated[str, Field(pattern=_FRACTION)] | None
    floor_mva: Annotated[str, Field(pattern=_FRACTION)] | None = None
    """The floor with which its ledger counts relative distances; `distance_mva` is one then."""
    distances_differ: bool = False
    elsewhere: dict[str, Annotated[str, Field(pattern=_FRACTION)]] = {}
    """The most that any of its loads has spent in other metrics."""
    ledgers: tuple[LedgerSeal, ...] = ()
    """The row of its ledger that charged its loads; none in contributions before 0.3."""
    loads: tuple[ReleasedLoad, ...]
    generators: tuple[DispatchedGenerator, ...]
    buses: tuple[BusVoltage, ...]

    @property
    def load_buses(self) -> list[int]:
        """The number of each load's bus."""
        return [load.bus for load in self.loads]


def make_contribution(
    party_slice: Slice, run: Run, result: PartyResult, guarantee: Guarantee, entry: Entry | None
) -> Contribution:
    """Return what a party publishes; `entry` is its ledger's, None for a party without loads."""
    point = result.point
    return Contribution(
        party=party_slice.party,
        network_id=party_slice.network_id,
        run=run,
        status=result.status.name,
        iterations=result.iterations,
        guarantee=asdict(guarantee),
        drawn_at="" if entry is None else entry.drawn_at,
        cumulative="0" if entry is None else str(entry.cumulative),
        distance_mva=None if entry is None or entry.distance is None else str(entry.distance),
        floor_mva=None if entry is None or entry.floor is None else str(entry.floor),
        distances_differ=entry is not None and entry.distances_differ,
        elsewhere={}
        if entry is None
        else {metric: str(most) for metric, most in entry.elsewhere.items()},
        ledgers=tuple(
            LedgerSeal(**asdict(seal)) for seal in (() if entry is None else entry.seals)
        ),
        loads=tuple(
            ReleasedLoad(bus=bus, number=number, p=p, q=q)
            for (bus, number), p, q in zip(
                party_slice.load_places, result.p.tolist(), result.q.tolist(), strict=True
            )
        ),
        generators=tuple(
            DispatchedGenerator(number=gen.number, p=p, q=q, public_cost=gen.public_cost)
            for gen, p, q in zip(
                party_slice.generators, point.p.tolist(), point.q.tolist(), strict=True
            )
        ),
        buses=tuple(
            BusVoltage(number=bus.number, v=v, theta=theta)
            for bus, v, theta in zip(
                party_slice.buses, point.v.tolist(), point.theta.tolist(), strict=True
            )
        ),
    )


def write_contribution(contribution: Contribution, path: Path) -> None:
    """Write a contribution; the file appears whole or not at all."""
    write_atomically(path, contribution.model_dump_json(indent=1).encode() + b"\n")


def read_contribution(path: Path) -> Contribution:
    """Read a contribution, or say what is wrong with it."""
    with document_errors(path):
        contribution = Contribution.model_validate_json(read_file(path))
    if contribution.status not in Status.__members__:
        raise GridveilError(f"{path}: status: {contribution.status!r} is unknown")
    return contribution
