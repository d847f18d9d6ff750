"""Certificates of version 1, as releases before 0.2 have them, and how they are read today."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from gridveil.fidelity.base import BandKind
from gridveil.fidelity.registry import METHODS
from gridveil.publication.certificate import (
    Certificate,
    Invariant,
    NotNegative,
    Part,
    Positive,
    StatedViolations,
)
from gridveil.publication.certificate_v2 import CertificateV2, StatedCostsV2


class ProtectionV1(Part):
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
    def _fits_together(self) -> "ProtectionV1":
        if self.epsilon_costs >= self.epsilon:
            raise ValueError("the costs cannot have taken all of epsilon")
        distances = (self.alpha_pu, self.alpha_mva, self.noise_scale_pu)
        if self.mechanism != "piecewise" and None in distances:
            raise ValueError("a Laplace mechanism has a distance and a noise scale")
        return self


class FidelityV1(Part):
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
    violations: StatedViolations


class CertificateV1(Part):
    """Everything a release claims."""

    format: Literal["gridveil-certificate"]
    version: Literal[1]
    release_id: str
    network: str
    base_mva: Positive
    drawn_at: str
    """When the noise was drawn, UTC."""
    software: dict[str, str]
    protection: ProtectionV1
    invariants: list[Invariant]
    costs: StatedCostsV2
    fidelity: FidelityV1
    load_buses: list[Annotated[int, Field(ge=1, le=2**53)]]
    files: dict[str, str]
    """SHA-256 of every other file of the release."""
    digest: str = ""
    """SHA-256 of this certificate without this field."""

    def upgraded(self) -> Certificate:
        """Return what it states as a certificate of the present version says it."""
        content = self.model_dump(mode="json")
        content["version"] = 2
        content["protection"]["parameters"] = {}
        fidelity = self.fidelity
        method, band = METHODS.get(fidelity.method), BandKind(fidelity.band)
        content["fidelity"]["promise"] = method.promise(fidelity.beta, band)
        return CertificateV2.model_validate(content).upgraded()
