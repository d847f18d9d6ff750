"""The certificate of a release: a versioned document, checked wherever it is read.

`docs/certificate.schema.json` is its JSON Schema. `digest` covers all of it but itself and the
signature, so that no number can change unnoticed; only a signature proves who wrote it.
"""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gridveil.errors import GridveilError, told_as_mistakes
from gridveil.publication.folder import CERTIFICATE

VERSION = 1


Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Protection(_Part):
    """What is protected, and how."""

    promise: str
    """In plain words."""
    unit: str
    mechanism: Literal["polar-laplace", "product-laplace", "piecewise"]
    epsilon: Positive
    epsilon_costs: NotNegative
    """The part of ε that paid for the costs O*."""
    delta: Annotated[float, Field(ge=0, le=0)]
    alpha_pu: Positive | None
    """The distance α; null where ε holds for any two values within public bounds."""
    alpha_mva: Positive | None
    metric: str
    grid_step_pu: Positive
    noise_scale_pu: Positive | None
    bounds: str
    """Where the public bounds were published that values are clamped to; empty without."""
    caution: str
    cumulative_epsilon: Positive
    """The most any load has spent, earlier releases of this network included."""
    cumulative_distance_mva: Positive | None
    """The distance at which that is counted."""
    entropy: Literal["exact sampling from operating-system entropy"]
    loads: int
    not_covered: list[str]

    @model_validator(mode="after")
    def _fits_together(self) -> "Protection":
        if self.epsilon_costs >= self.epsilon:
            raise ValueError("the costs cannot have taken all of epsilon")
        distances = (self.alpha_pu, self.alpha_mva, self.noise_scale_pu)
        if self.mechanism != "piecewise" and None in distances:
            raise ValueError("a Laplace mechanism has a distance and a noise scale")
        return self


class Invariant(_Part):
    """Something true that the release keeps and does not protect."""

    what: str
    provenance: str


class Costs(_Part):
    """The public costs O* that the release aims for."""

    provenance: Literal["published", "derived", "bought"]
    source: str
    generators: list[int]
    """Rows of the file's gen table, from 1."""
    dollars_per_hour: list[float]


class Violations(_Part):
    """Largest violation of each constraint at the published operating point, p.u. or radians."""

    active_balance: float
    reactive_balance: float
    voltage: float
    generator_active: float
    generator_reactive: float
    line_rate: float
    line_angle: float
    reference_angle: float


class Fidelity(_Part):
    """How well the released network works; gaps are relative to O*."""

    method: Literal["central", "bilevel", "admm"]
    band: Literal["generator", "total"]
    status: Literal["optimal", "acceptable", "converged"]
    beta: NotNegative
    cost_target: float
    cost_dispatch: float
    """Of the published dispatch, in $/h."""
    cost_gap_dispatch: float
    worst_generator_gap: float
    cost_optimal: float
    """Of a fresh AC-OPF."""
    cost_gap_optimal: float
    max_violation: float
    violations: Violations


class Certificate(_Part):
    """Everything a release claims."""

    format: Literal["gridveil-certificate"]
    version: Literal[1]
    release_id: str
    network: str
    base_mva: Positive
    drawn_at: str
    """When the noise was drawn, UTC."""
    software: dict[str, str]
    protection: Protection
    invariants: list[Invariant]
    costs: Costs
    fidelity: Fidelity
    load_buses: list[Annotated[int, Field(ge=1, le=2**53)]]
    files: dict[str, str]
    """SHA-256 of every other file of the release."""
    digest: str = ""
    """SHA-256 of this certificate without this field."""

    def sealed(self) -> "Certificate":
        """Return the certificate with its digest."""
        return self.model_copy(update={"digest": self.computed_digest()})

    def computed_digest(self) -> str:
        """Return the digest its contents have."""
        content = self.model_dump(mode="json", exclude={"digest"})
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return the certificate as a file."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def read_certificate(data: bytes) -> Certificate:
    """Read a certificate, or say what is wrong with it."""
    with told_as_mistakes(CERTIFICATE):
        certificate = Certificate.model_validate_json(data)
    if certificate.to_bytes() != data:  # names that stand there twice, for example
        raise GridveilError(f"{CERTIFICATE}: not as it was written: something was added")
    return certificate


def schema() -> str:
    """Return the JSON Schema, as text."""
    return json.dumps(Certificate.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
