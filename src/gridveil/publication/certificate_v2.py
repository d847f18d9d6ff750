"""Certificates of version 2, as release 0.2 has them, and how they are read today."""

from typing import Annotated, Literal

from pydantic import Field

from gridveil.publication.certificate import (
    VERSION,
    Certificate,
    Fidelity,
    Invariant,
    Name,
    NotNegative,
    Part,
    Positive,
)
from gridveil.publication.statements import (
    TARGET_PRIVATE,
    is_private_as_a_whole,
    whole_statement,
)

_BOUGHT = "bought"
KEPT_BEFORE = ("names", "comments", "sections")
"""Releases before 0.3 kept all of the source file but its loads and its solution."""


class ProtectionV2(Part):
    """What is protected, and how."""

    promise: str
    unit: str
    mechanism: Name
    epsilon: Positive
    epsilon_costs: NotNegative
    delta: Annotated[float, Field(ge=0, lt=1)]
    alpha_pu: Positive | None
    alpha_mva: Positive | None
    metric: str
    grid_step_pu: Positive
    noise_scale_pu: Positive | None
    parameters: dict[str, str]
    bounds: str
    caution: str
    cumulative_epsilon: Positive
    cumulative_distance_mva: Positive | None
    entropy: Literal["exact sampling from operating-system entropy"]
    loads: int
    not_covered: list[str]


class StatedCostsV2(Part):
    """The costs O* that the release aims for."""

    provenance: Literal["published", "derived", "bought"]
    source: str
    generators: list[int]
    """Rows of the file's gen table, from 1."""
    dollars_per_hour: list[float]


class CertificateV2(Part):
    """Everything a release claims."""

    format: Literal["gridveil-certificate"]
    version: Literal[2]
    release_id: str
    network: str
    base_mva: Positive
    drawn_at: str
    """When the noise was drawn, UTC."""
    software: dict[str, str]
    protection: ProtectionV2
    invariants: list[Invariant]
    costs: StatedCostsV2
    fidelity: Fidelity
    load_buses: list[Annotated[int, Field(ge=1, le=2**53)]]
    files: dict[str, str]
    """SHA-256 of every other file of the release."""
    digest: str = ""
    """SHA-256 of this certificate without this field."""

    def upgraded(self) -> Certificate:
        """Return what it states as a certificate of the present version says it."""
        content = self.model_dump(mode="json")
        costs, fidelity = content["costs"], content["fidelity"]
        if costs["provenance"] == _BOUGHT:
            costs["provenance"] = TARGET_PRIVATE
        fidelity["promise"] = todays_promise(fidelity["promise"])
        return Certificate.model_validate(
            {
                **content,
                "version": VERSION,
                "private_as_a_whole": is_private_as_a_whole(costs["provenance"], KEPT_BEFORE),
                "statement": whole_statement(
                    costs["provenance"], KEPT_BEFORE, self.protection.epsilon
                ),
                "kept": list(KEPT_BEFORE),
                "ledgers": [],
                "costs": {**costs, "true_cost": None},
            }
        )


def todays_promise(promise: str) -> str:
    """Return a promise about costs as today's methods word it."""
    return promise.replace("the public costs O*", "the costs O*")


def invariants_before(provenance: str, source: str) -> tuple[tuple[str, str], ...]:
    """Return what releases before 0.3 kept and did not protect, by today's provenance."""
    return (
        ("which buses have a load", "public by declaration: the list of load buses"),
        (
            "topology, impedances, limits, costs, comments and all else in the case file",
            "public by declaration: the source file, but for its loads and its solution",
        ),
        (
            "the generators' costs O*, within beta",
            f"published: {source}" if provenance == "published" else source,
        ),
    )
