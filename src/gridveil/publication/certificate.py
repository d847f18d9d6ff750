"""The certificate of a release: a versioned document, checked wherever it is read.

`docs/certificate.schema.json` is its JSON Schema. `digest` covers all of it but itself and the
signature, so that no number can change unnoticed; only a signature proves who wrote it.

Version 3 says first whether the folder is private as a whole, has the costs O* by provenance, and
an interval for the true optimal cost. Versions 1 and 2 are read as well (certificate_v1.py,
certificate_v2.py).
"""

import hashlib
import json
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gridveil.publication.statements import COSTS, DISPATCH, NO_TARGET, TARGET_PRIVATE

VERSION: Final = 3
_NAME = r"^[!-~]([ -~]{0,62}[!-~])?$"
"""Printable ASCII, neither beginning nor ending with a blank."""

Name = Annotated[str, Field(pattern=_NAME)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
BusNumber = Annotated[int, Field(ge=1, le=2**53)]


class Part(BaseModel):
    """A part of a certificate: nothing missing, nothing else, no number that is not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Protection(Part):
    """What is protected, and how."""

    promise: str
    """In plain words."""
    unit: str
    mechanism: Name
    epsilon: Positive
    epsilon_costs: NotNegative
    """The part of ε that paid for the costs O*, or for the private total of a series."""
    delta: Annotated[float, Field(ge=0, lt=1)]
    kind: Literal["absolute", "relative", "energy"] = "absolute"
    """What the distance is measured in: MVA, parts of the load, or MVAh over all hours."""
    alpha_pu: Positive | None
    """The distance α; null where it is another for each load, relative, or any within bounds."""
    alpha_mva: Positive | None
    relative_distance: Positive | None = None
    """Of a relative promise: 0.1 is 10 % of the load."""
    floor_pu: Positive | None = None
    """Below it, a relative distance becomes an absolute one."""
    floor_mva: Positive | None = None
    metric: str
    grid_step_pu: Positive
    """In the coordinates of the mechanism where the distance is relative, and so is the scale."""
    noise_scale_pu: Positive | None
    parameters: dict[str, str]
    """Every parameter of the mechanism as exact text; none in releases of version 1."""
    bounds: str
    """Where the public bounds were published that values are clamped to; empty without."""
    caution: str
    cumulative_epsilon: Positive
    """The most any load has spent, earlier releases of this network included."""
    cumulative_distance_mva: Positive | None
    """The distance at which that is counted; null where each load has one of its own."""
    cumulative_relative_distance: Positive | None = None
    """The same for a relative promise, with this floor."""
    cumulative_floor_mva: Positive | None = None
    cumulative_differs: bool = False
    """Whether each load is counted at a distance of its own; the two above are null then."""
    also_spent: dict[Literal["absolute", "relative", "log", "energy"], Positive] = {}
    """The most that any load has spent in promises of other metrics, which are counted apart."""
    entropy: Literal["exact sampling from operating-system entropy"]
    loads: int
    not_covered: list[str]

    @model_validator(mode="after")
    def _fits_together(self) -> "Protection":
        if self.epsilon_costs >= self.epsilon:
            raise ValueError("the costs cannot have taken all of epsilon")
        if (self.alpha_pu is None) != (self.alpha_mva is None):
            raise ValueError("a distance stands in p.u. and in MVA, or in neither")
        relative = (self.relative_distance, self.floor_pu, self.floor_mva)
        is_relative = self.kind == "relative"
        if any((value is None) == is_relative for value in relative):
            raise ValueError("a relative promise has a distance and a floor, others have neither")
        counted = (self.cumulative_distance_mva, self.cumulative_relative_distance)
        if counted[not is_relative] is not None or (is_relative and self.alpha_pu is not None):
            raise ValueError("a distance is in MVA or relative, as the promise is")
        if self.cumulative_differs and any(at is not None for at in counted):
            raise ValueError("it is counted at one distance, or at that of each load")
        if (self.cumulative_floor_mva is None) == is_relative:
            raise ValueError("a relative promise is counted with a floor, others without")
        if is_relative and self.epsilon_costs:
            raise ValueError("a relative promise buys no total")
        if self.kind in self.also_spent:
            raise ValueError("what was spent in the promise's own metric is the cumulative ε")
        return self


class StatedPostProcessing(Part):
    """What was done to the private loads, and holds of the released ones; it costs no privacy."""

    sentences: Annotated[list[str], Field(min_length=1)]
    """In plain words."""
    bias_corrected: bool
    """Whether the private loads were corrected for the bias of their mean."""
    consumers: list[int | tuple[int, int]]
    """The loads that are consumers, whose P is not negative: a bus for all of its loads, or a bus
    and the number of one."""
    power_factor: Annotated[float, Field(gt=0, lt=1)] | None
    """The lowest that consumers have; null where they have any."""

    @model_validator(mode="after")
    def _fits_together(self) -> "StatedPostProcessing":
        if not (self.bias_corrected or self.consumers):
            raise ValueError("post-processing does something")
        if self.power_factor is not None and not self.consumers:
            raise ValueError("a power factor is that of consumers")
        return self


class Invariant(Part):
    """Something true that the release keeps and does not protect."""

    what: str
    provenance: str


class TrueCost(Part):
    """An interval for the optimal cost of the true network, from what is published alone."""

    meaning: str
    """In plain words."""
    low: Positive
    high: Positive
    """Both in $/h."""


class StatedCosts(Part):
    """The costs O* that the release aims for."""

    provenance: Literal["private", "published", "derived"]
    """Computed from the private loads; known anyway; or from the raw loads, declared public."""
    source: str
    generators: list[int]
    """Rows of the file's gen table, from 1."""
    dollars_per_hour: list[float]
    """No more digits than β can use, unless published elsewhere."""
    true_cost: TrueCost | None
    """Null where O* is not private, and where the interval would say little."""


class StatedDispatch(Part):
    """The dispatch p* that the release keeps near."""

    provenance: Literal["private", "published", "derived"]
    """Computed from the private loads; known anyway; or from the raw loads, declared public."""
    source: str
    generators: list[int]
    """Rows of the file's gen table, from 1."""
    megawatts: list[float]
    """No more digits than β can use, unless published elsewhere."""


class StatedViolations(Part):
    """Largest violation of each constraint at the published operating point, p.u. or radians."""

    active_balance: float
    reactive_balance: float
    voltage: float
    generator_active: float
    generator_reactive: float
    line_rate: float
    line_angle: float
    reference_angle: float


class Fidelity(Part):
    """How well the released network works; gaps are relative to O*.

    Figures of costs are null where the band is not on costs; those of a dispatch are left out where
    it is not on a dispatch.
    """

    promise: str
    """What the method promises of dispatch and costs, in plain words."""
    method: Name
    band: Literal["cost", "generator", "total", "dispatch", "none"]
    """"generator" is what releases up to 0.3 call "cost"."""
    status: Literal["optimal", "acceptable", "converged"]
    beta: NotNegative
    cost_target: float | None
    cost_dispatch: float | None
    """Of the published dispatch, in $/h."""
    cost_gap_dispatch: float | None
    worst_generator_gap: float | None
    cost_optimal: float | None
    """Of a fresh AC-OPF."""
    cost_gap_optimal: float | None
    largest_deviation: float | None = None
    """Of the published dispatch from p*: of any output, as a share of the generator's range."""
    proportional_deviation: float | None = None
    """The same of a fresh proportional dispatch, for a network without costs."""
    max_violation: float
    violations: StatedViolations

    @property
    def headline(self) -> str:
        """What came of the band, in a few words."""
        if self.cost_gap_optimal is not None:
            return f"optimal cost {self.cost_gap_optimal:+.2%} against O*"
        if self.largest_deviation is not None:
            return f"every output within {self.largest_deviation:.2%} of its range of p*"
        return "nothing promised about the dispatch"

    @model_serializer(mode="wrap")
    def _without_what_is_left_out(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without(whole(self), "largest_deviation", "proportional_deviation")

    @model_validator(mode="after")
    def _fits_together(self) -> "Fidelity":
        costs = (
            self.cost_target,
            self.cost_dispatch,
            self.cost_gap_dispatch,
            self.worst_generator_gap,
            self.cost_optimal,
            self.cost_gap_optimal,
        )
        on_costs = self.band not in ("dispatch", "none")
        if any((value is None) == on_costs for value in costs):
            raise ValueError("a band on costs has figures of costs, others have none")
        if (self.largest_deviation is None) == (self.band == "dispatch"):
            raise ValueError("a band on the dispatch has a largest deviation, others have none")
        if self.proportional_deviation is not None and self.band != "dispatch":
            raise ValueError("a proportional dispatch is compared where the band is on one")
        return self


class StatedSeries(Part):
    """Which hours a release of a series has, and how they were found.

    The other parts of its certificate are about all released hours: costs of the fidelity part are
    sums over them, violations and gaps of single generators the largest of any, and the costs O* or
    the dispatch p* means. The tables of the folder have the figures of every hour.
    """

    promise: Literal["energy", "day", "window"]
    first_hour: str
    """When the first hour begins, UTC."""
    hours: Annotated[int, Field(ge=1, le=2**18)]
    left_out: list[str]
    """The hours for which no network was found that works; the tables have no loads of them."""
    endings: dict[str, int]
    """How many hours were restored in which way."""
    basis_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the whole numbers of the public basis."""
    noise_scales: list[Positive]
    """Of each coefficient of a block, in whole numbers of the basis."""
    smoothing: str
    """What the private series were smoothed with."""
    smoothing_effect: str
    """By how much that moved them, in words."""
    network_hour: str
    """The hour whose loads and operating point stand in the case file: that of the largest load."""
    worst_hour: str
    """The hour with the largest violation."""
    mean_violation: NotNegative
    has_ramps: bool
    """Whether generators have ramp limits."""
    ramp_excess: NotNegative | None
    """By how much the published dispatch breaks them at most, in p.u.; null without."""


class LedgerRow(Part):
    """The row of a ledger that charged the release; the ledger cannot take it back unnoticed."""

    ledger: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    """The identity of the ledger."""
    opened_at: str
    row: Annotated[int, Field(ge=1, le=2**53)]
    head: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """The hash of the row, which follows from all rows before it."""
    earlier: str
    """Whether the ledger knew an earlier release of any load, in words."""


class StatedSolve(Part):
    """What solved central programs of a part of the release, and where."""

    what: Literal["target", "fidelity phase", "optimal cost"]
    """O* or p*; the restoring; the AC-OPF of the released network."""
    solver: Name
    version: Name
    device: Literal["cpu", "gpu"]


class Certificate(Part):
    """Everything a release claims."""

    format: Literal["gridveil-certificate"]
    version: Literal[3]
    private_as_a_whole: bool
    """Whether nothing in the folder was computed from raw loads but through a mechanism."""
    statement: str
    """The same in plain words, with what is not private."""
    kept: list[Literal["names", "comments", "sections"]]
    """What of the source file is published as it stands; the owner declares it public."""
    release_id: str
    network: str
    base_mva: Positive
    drawn_at: str
    """When the noise was drawn, UTC."""
    software: dict[str, str]
    solves: list[StatedSolve] | None = None
    """Left out by releases before 0.4."""
    protection: Protection
    post_processing: StatedPostProcessing | None = None
    """Left out where nothing was asked for."""
    ledgers: list[LedgerRow]
    """Of the owner; of every party in a federation. None before version 3."""
    invariants: list[Invariant]
    costs: StatedCosts | None
    """Null where the band is not on costs."""
    dispatch: StatedDispatch | None = None
    """Left out where the band is not on a dispatch."""
    fidelity: Fidelity
    series: StatedSeries | None = None
    """Left out of the release of a snapshot."""
    load_buses: list[BusNumber]
    """The bus of every load in service, as often as it has loads; they are numbered from 1."""
    idle_load_buses: list[BusNumber] = []
    """The same of released loads that are out of service; left out where there are none."""
    files: dict[str, str]
    """SHA-256 of every other file of the release."""
    digest: str = ""
    """SHA-256 of this certificate without this field."""

    @model_serializer(mode="wrap")
    def _without_what_is_left_out(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content = _without(whole(self), "solves", "post_processing", "dispatch", "series")
        if not self.idle_load_buses:
            content.pop("idle_load_buses", None)
        return content

    @model_validator(mode="after")
    def _has_its_target(self) -> "Certificate":
        band = self.fidelity.band
        if (self.costs is None) != (band in ("dispatch", "none")):
            raise ValueError("a band on costs comes with the costs O*, others without")
        if (self.dispatch is None) == (band == "dispatch"):
            raise ValueError("a band on the dispatch comes with the dispatch p*, others without")
        return self

    @property
    def stated_target(self) -> StatedCosts | StatedDispatch | None:
        """What generators are held to: costs O*, a dispatch p*, or nothing."""
        return self.dispatch if self.costs is None else self.costs

    @property
    def provenance(self) -> str:
        """Where that comes from; private where there is nothing."""
        target = self.stated_target
        return TARGET_PRIVATE if target is None else target.provenance

    @property
    def target(self) -> str:
        """What generators are held to, in words; empty where it is nothing."""
        if self.costs is not None:
            return COSTS
        return NO_TARGET if self.dispatch is None else DISPATCH

    def sealed(self) -> "Certificate":
        """Return the certificate with its digest."""
        return self.model_copy(update={"digest": self.computed_digest()})

    def computed_digest(self) -> str:
        """Return the digest its contents have."""
        return document_digest(self)

    def to_bytes(self) -> bytes:
        """Return the certificate as a file."""
        return document_bytes(self)


def _without(content: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a part without those of its fields that are null."""
    return {k: value for k, value in content.items() if not (k in names and value is None)}


def document_digest(document: Part) -> str:
    """Return the SHA-256 of a document without its field `digest`."""
    content = document.model_dump(mode="json", exclude={"digest"})
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def document_bytes(document: Part) -> bytes:
    """Return a document as a file."""
    return (document.model_dump_json(indent=2) + "\n").encode()


def schema() -> str:
    """Return the JSON Schema, as text."""
    return json.dumps(Certificate.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
