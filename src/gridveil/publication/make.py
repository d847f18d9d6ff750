"""Makes the files of a release from what was drawn and what the fidelity phase found.

Nothing here sees a raw load: networks are blank, loads are private ones. The same input gives the
same bytes.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.admm.history import History
from gridveil.device import Device
from gridveil.errors import GridveilError, NotSolvedError
from gridveil.fidelity.base import BandKind, CostGaps, FidelityMethod
from gridveil.fidelity.result import Restored, gaps_of
from gridveil.files import csv_bytes
from gridveil.frames import frame_of_rows
from gridveil.html_table import html_table
from gridveil.network.components import LoadList
from gridveil.network.network import Network
from gridveil.network.source_loads import numbers_at_buses
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.nonlinear_program import SolverVersion
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, Violations, violations
from gridveil.opf.solvers import Solver
from gridveil.privacy.calibration import exact
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.ledger.records import Entry
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import NoisyLoads, Origin
from gridveil.publication.case_file import PublishedCase, publish
from gridveil.publication.certificate import (
    VERSION,
    Certificate,
    Fidelity,
    Invariant,
    LedgerRow,
    Protection,
    StatedCosts,
    StatedDispatch,
    StatedPostProcessing,
    StatedSolve,
    StatedViolations,
)
from gridveil.publication.costs import PublicCosts
from gridveil.publication.dispatch import PublicDispatch
from gridveil.publication.folder import (
    CERTIFICATE,
    HISTORY,
    LOADS,
    NETWORK,
    POSITIONS,
    REPORT,
    SIGNATURE,
    write_folder,
)
from gridveil.publication.page_data import (
    history_file,
    positions_file,
    read_history,
    read_positions,
)
from gridveil.publication.plot import plot_release
from gridveil.publication.post_processing import NO_POST_PROCESSING, PostProcessing
from gridveil.publication.report.page import report_page
from gridveil.publication.signing import sign
from gridveil.publication.software import software_of
from gridveil.publication.statements import (
    EARLIER_RELEASES,
    FIRST_RELEASE,
    LARGEST_BASE,
    LOADS_COLUMNS,
    SMALLEST_BASE,
    invariants,
    is_plausible_base,
    is_private_as_a_whole,
    keeps_beta,
    post_processing_sentences,
    ratings_source,
    target_name,
    true_cost_meaning,
    uncovered,
    whole_statement,
)
from gridveil.publication.targets import Provenance, Target
from gridveil.publication.true_cost import stated_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDING = 1e-13
"""By how much loads differ, relatively, that were written in MW and read again."""

Notify = Callable[[str], None]
"""Called with the name of each phase that begins."""


@dataclass(frozen=True, repr=False)
class Release:
    """Everything that is published, as bytes, and what it was made from."""

    certificate: Certificate
    files: Mapping[str, bytes]
    noisy: NoisyLoads | None
    """None where parties drew it, each for itself."""
    published: PublishedCase
    restored: Restored
    opf: OPFResult | None
    """A fresh AC-OPF of the released network, where the band is on costs or proportional."""

    def save(self, path: Path | str) -> None:
        """Write the release into a new folder, whole or not at all."""
        write_folder(Path(path), self.files)

    def to_frame(self) -> Any:
        """Return the released loads as a pandas DataFrame, with the columns of loads.csv."""
        rows = _load_rows(self.published)
        return frame_of_rows([dict(zip(LOADS_COLUMNS, row, strict=True)) for row in rows])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw a map of the released network: loads by their size, lines by their loading.

        Args:
            ax: The Matplotlib axes to draw in; None makes new ones.
        """
        return plot_release(self.published, ax)

    def __repr__(self) -> str:
        stated = self.certificate
        return (
            f"Release({stated.release_id!r} of {stated.network!r}: {stated.protection.loads} loads "
            f"by {stated.protection.mechanism}, ε = {stated.protection.epsilon:g}; "
            f"{stated.fidelity.headline})"
        )

    def _repr_html_(self) -> str:
        protection, fidelity = self.certificate.protection, self.certificate.fidelity
        rows = [
            ("promise", protection.promise),
            ("method", fidelity.method),
            ("largest violation, p.u.", fidelity.max_violation),
            ("dispatch", fidelity.headline),
            ("ε spent per load, all releases", protection.cumulative_epsilon),
            ("files", ", ".join(sorted(self.files))),
        ]
        return html_table(repr(self), ("", ""), rows)


@dataclass(frozen=True)
class Basis:
    """What a release is made from, once the noise is drawn."""

    release_id: str
    guarantee: Guarantee
    """Of the loads; what the costs took of ε comes on top."""
    parameters: Mapping[str, str]
    """The mechanism's specification."""
    origin: Origin
    epsilon_costs: float
    entry: Entry
    target: Target | None
    """What the band is around; None where it is nothing."""
    beta: float
    band: BandKind
    method: type[FidelityMethod]
    kept: tuple[str, ...] = ()
    """What of the source file is published as it stands."""
    post_processing: PostProcessing = NO_POST_PROCESSING
    """What was done to the private loads."""
    target_solvers: tuple[SolverVersion, ...] = ()
    """What computed the target, if that took a solve."""
    idle: LoadList = field(default_factory=LoadList.none)
    """The private loads that are out of service, where the release lists them."""

    @property
    def provenance(self) -> Provenance:
        """Where what generators are held to comes from; private where it is nothing."""
        return Provenance.PRIVATE if self.target is None else self.target.provenance

    @property
    def target_name(self) -> str:
        """What generators are held to, in words; empty where it is nothing."""
        return target_name(self.band.value)


def draft(network: Network, basis: Basis) -> Certificate:
    """Return a certificate with everything that is known before the fidelity phase.

    Raises:
        GridveilError: It could not be certified; so nothing should be charged.
    """
    if not is_plausible_base(network.base_mva):
        raise GridveilError(
            f"the base of {network.base_mva:g} MVA could not be certified, so nothing is drawn or "
            f"charged; it has to be between {SMALLEST_BASE:g} and {LARGEST_BASE:g} MVA"
        )
    fidelity = {
        "status": "optimal",
        **_gap_figures(basis, 0.0, 0.0, CostGaps(0.0, 0.0, 0.0, 0.0), None),
        "max_violation": 0.0,
        "violations": dict.fromkeys(StatedViolations.model_fields, 0.0),
    }
    try:
        made = _certificate(network, basis, fidelity, None, [], software_of(False, [])).sealed()
        made.to_bytes()  # a text may be one that no file can hold
        keeps_beta(
            float(basis.method.kept_gap(CostGaps(0.0, 0.0, 0.0, 0.0), basis.band)), basis.beta
        )
    except Exception as error:  # pydantic's, or whatever the code of another package raises
        raise GridveilError(
            f"release {basis.release_id!r} could not be certified, so nothing is drawn or "
            f"charged: {error}"
        ) from error
    return made


def certify(
    network: Network,
    basis: Basis,
    restored: Restored,
    history: History | None,
    key: Ed25519PrivateKey | None = None,
    notify: Notify = lambda _: None,
) -> Release:
    """Certify what the fidelity phase found, as a release of a network without loads.

    Args:
        network: The blank network.
        basis: What was drawn and decided.
        restored: What the fidelity phase found.
        history: That of the agents, if they solved it.
        key: Signs the certificate.
        notify: Called with the name of each phase.

    Raises:
        NotSolvedError: What was found cannot be released.
    """
    again = f"; the private loads are kept under release id {basis.release_id!r}"
    limits = basis.post_processing.limits
    if not restored.status.solved:
        raise NotSolvedError(
            f"the fidelity phase failed: {restored.status.value}. The private loads are kept "
            f"under release id {basis.release_id!r}: try again with another beta or method"
            f"{'' if limits is None else ', or other limits of consumers'}, at no further cost"
        )
    notify("verification")
    p, q = restored.network.loads.values.T
    published = publish(network, p, q, restored.point, basis.idle)
    largest = violations(published.network, published.point).largest
    if not largest <= FEASIBILITY_TOLERANCE:  # nor what is not a number
        raise NotSolvedError(
            f"the network found breaks its limits by {largest:.1e} p.u., and a release by at most "
            f"{FEASIBILITY_TOLERANCE:g}; a central solver can take the last step (polish){again}"
        )
    if limits is not None and limits.excess(published.network.loads.values) > FEASIBILITY_TOLERANCE:
        raise NotSolvedError(
            f"method {basis.method.name!r} does not keep the limits of consumers; bilevel, central "
            f"and admm do{again}"
        )
    opf = None
    if basis.band.on_costs or (basis.band is BandKind.DISPATCH and not network.has_costs):
        opf = _optimum(published.network, restored.checked)
        if not opf.status.solved:
            raise NotSolvedError(f"the network found has no AC-OPF: {opf.status.value}{again}")
    figures = _fidelity(published, opf, basis, restored)
    if figures is None:
        raise NotSolvedError(f"the network found does not keep beta = {basis.beta:g}{again}")
    interval = None
    if basis.band.on_costs and opf is not None and basis.provenance is Provenance.PRIVATE:
        interval = stated_interval(
            opf, basis.parameters, basis.epsilon_costs, basis.post_processing
        )
    on_gpu = restored.agents is not None and restored.agents.device is Device.GPU
    solves = _solves(basis, restored, opf)
    software = software_of(on_gpu, solves)
    certificate = _certificate(network, basis, figures, interval, solves, software)
    files = {
        NETWORK: published.text.encode("utf-8", "surrogateescape"),
        LOADS: csv_bytes(LOADS_COLUMNS, _load_rows(published)),
    }
    notify("report")
    files[POSITIONS] = positions_file(network)
    if history is not None and len(history):
        files[HISTORY] = history_file(history)
    files[REPORT] = report_page(
        certificate,
        published,
        read_positions(files[POSITIONS], published.network),
        read_history(files[HISTORY]) if HISTORY in files else None,
    )
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    certificate = certificate.model_copy(update={"files": digests}).sealed()
    files[CERTIFICATE] = certificate.to_bytes()
    if key is not None:
        files[SIGNATURE] = sign(key, files[CERTIFICATE])
    return Release(certificate, files, None, published, restored, opf)


def _certificate(
    network: Network,
    basis: Basis,
    fidelity: Mapping[str, object],
    interval: tuple[float, float] | None,
    solves: list[StatedSolve],
    software: dict[str, str],
) -> Certificate:
    provenance, kept, total = basis.provenance, basis.kept, promised(basis).epsilon
    source = "" if basis.target is None else basis.target.source
    done = basis.post_processing
    return Certificate(
        format="gridveil-certificate",
        version=VERSION,
        private_as_a_whole=is_private_as_a_whole(provenance, kept),
        statement=whole_statement(provenance, kept, total, basis.target_name),
        kept=list(kept),  # type: ignore[arg-type]
        release_id=basis.release_id,
        network=network.name,
        base_mva=network.base_mva,
        drawn_at=basis.entry.drawn_at,
        software=software,
        solves=solves,
        protection=_protection(basis, network),
        post_processing=_post_processing(done, network),
        ledgers=[
            LedgerRow(
                ledger=seal.ledger,
                opened_at=seal.opened_at,
                row=seal.row,
                head=seal.head,
                earlier=FIRST_RELEASE if seal.is_first else EARLIER_RELEASES,
            )
            for seal in basis.entry.seals
        ],
        invariants=[
            Invariant(what=what, provenance=provenance)
            for what, provenance in invariants(
                provenance,
                source,
                kept,
                done.limits is not None,
                done.power_factor,
                ratings_source(basis.parameters),
                basis.target_name,
            )
        ],
        costs=_stated_costs(basis.target, network, interval),
        dispatch=_stated_dispatch(basis.target, network),
        fidelity=Fidelity.model_validate(
            {
                "promise": basis.method.promise(basis.beta, basis.band),
                "method": basis.method.name,
                "band": basis.band.value,
                "beta": basis.beta,
                **fidelity,
            }
        ),
        load_buses=network.load_buses,
        idle_load_buses=basis.idle.bus.tolist(),
        files={},
    )


def _stated_costs(
    target: Target | None, network: Network, interval: tuple[float, float] | None
) -> StatedCosts | None:
    if not isinstance(target, PublicCosts):
        return None
    return StatedCosts.model_validate(
        {
            "provenance": target.provenance.value,
            "source": target.source,
            "generators": (network.generators.row + 1).tolist(),
            "dollars_per_hour": target.values.tolist(),
            "true_cost": None if interval is None else _true_cost(*interval),
        }
    )


def _stated_dispatch(target: Target | None, network: Network) -> StatedDispatch | None:
    if not isinstance(target, PublicDispatch):
        return None
    return StatedDispatch.model_validate(
        {
            "provenance": target.provenance.value,
            "source": target.source,
            "generators": (network.generators.row + 1).tolist(),
            "megawatts": target.values.tolist(),
        }
    )


def _true_cost(low: float, high: float) -> dict[str, object]:
    return {"meaning": true_cost_meaning(low, high), "low": low, "high": high}


def _post_processing(of: PostProcessing, network: Network) -> StatedPostProcessing | None:
    """Return what is stated of post-processing; None without any."""
    sentences = post_processing_sentences(
        of.consumer_count, len(network.loads), of.power_factor, of.corrects_bias
    )
    if not sentences:
        return None
    return StatedPostProcessing(
        sentences=sentences,
        bias_corrected=of.corrects_bias,
        consumers=of.consumers(network.load_buses),
        power_factor=of.power_factor,
    )


def promised(basis: Basis) -> Guarantee:
    """Return what a release promises of each load, what the costs took included."""
    total = exact(basis.guarantee.epsilon, "epsilon") + exact(basis.epsilon_costs, "cost budget")
    return replace(basis.guarantee, epsilon=float(total))


def _protection(basis: Basis, network: Network) -> Protection:
    entry, base, promise = basis.entry, network.base_mva, promised(basis)
    is_relative = promise.kind is Metric.RELATIVE
    counted = "cumulative_relative_distance" if is_relative else "cumulative_distance_mva"
    figures = {
        "promise": promise.sentence(base),
        "unit": promise.unit,
        "mechanism": promise.mechanism,
        "epsilon": promise.epsilon,
        "epsilon_costs": basis.epsilon_costs,
        "delta": promise.delta,
        **_distances(basis, base),
        "metric": promise.metric,
        "grid_step_pu": promise.step,
        "noise_scale_pu": promise.scale,
        "parameters": dict(basis.parameters),
        "caution": promise.caution,
        "cumulative_epsilon": float(entry.cumulative),
        "cumulative_distance_mva": None,
        counted: None if entry.distance is None else float(entry.distance),
        "cumulative_floor_mva": _counted_floor(basis, base) if is_relative else None,
        "cumulative_differs": entry.distances_differ,
        "also_spent": {metric: float(most) for metric, most in entry.elsewhere.items()},
        "entropy": basis.origin.value,
        "loads": len(network.loads) + len(basis.idle),
        "bounds": basis.parameters.get("bounds", ""),
        "not_covered": uncovered(
            promise.not_covered, basis.provenance, promise.delta, basis.target_name
        ),
    }
    return Protection.model_validate(figures)


def _counted_floor(basis: Basis, base: float) -> float:
    """Return the floor that the ledger counts with; before the draw that of the release."""
    floor = basis.entry.floor
    return _floor_mva(basis, base) if floor is None else float(floor)


def _floor_mva(basis: Basis, base: float) -> float:
    """Return the floor of a relative promise in MVA, to the last digit."""
    floor = basis.parameters.get("floor", basis.guarantee.floor)
    return float(exact(0 if floor is None else floor, "floor") * exact(base, "base"))


def _distances(basis: Basis, base: float) -> dict[str, object]:
    """Return the distance of a promise: α, a relative one with its floor, or none for all loads."""
    promise = basis.guarantee
    figures: dict[str, object] = {"kind": promise.kind.value, "alpha_pu": None, "alpha_mva": None}
    if promise.kind is Metric.RELATIVE and promise.floor is not None:
        figures |= {
            "relative_distance": promise.distance,
            "floor_pu": promise.floor,
            "floor_mva": _floor_mva(basis, base),
        }
    elif promise.distances is None and promise.distance is not None:
        figures |= {"alpha_pu": promise.distance, "alpha_mva": promise.distance * base}
    return figures


def _fidelity(
    published: PublishedCase, opf: OPFResult | None, basis: Basis, restored: Restored
) -> dict[str, object] | None:
    """Return the figures of the published network, None if the band is not kept."""
    network, outputs = published.network, published.point.p
    found, target = violations(network, published.point), np.zeros(0)
    if basis.target is not None:
        target = basis.target.for_fidelity(network.base_mva)
    optimal = None if opf is None else opf.cost
    gaps = gaps_of(network, basis.band, target, outputs, optimal)
    if not keeps_beta(basis.method.kept_gap(gaps, basis.band), basis.beta):
        return None
    proportional = None
    if opf is not None and basis.band is BandKind.DISPATCH:
        proportional = gaps_of(network, basis.band, target, opf.point.p).deviation
    cost = float(network.generators.costs(outputs).sum())
    return {
        "status": restored.status.name.lower(),
        **_gap_figures(basis, cost, optimal, gaps, proportional),
        "max_violation": found.largest,
        "violations": _stated(found),
    }


def _gap_figures(
    basis: Basis,
    cost: float,
    optimal: float | None,
    gaps: CostGaps,
    proportional: float | None,
) -> dict[str, float | None]:
    """Return the figures that the band is about; those of other bands are None."""
    costs = isinstance(basis.target, PublicCosts)
    figures = {
        "cost_target": float(basis.target.values.sum()) if basis.target is not None else None,
        "cost_dispatch": cost,
        "cost_gap_dispatch": gaps.dispatch,
        "worst_generator_gap": gaps.worst_generator,
        "cost_optimal": optimal,
        "cost_gap_optimal": gaps.optimal,
    }
    return {
        **(figures if costs else dict.fromkeys(figures)),
        "largest_deviation": gaps.deviation if basis.band is BandKind.DISPATCH else None,
        "proportional_deviation": proportional,
    }


def _stated(found: Violations) -> StatedViolations:
    return StatedViolations(**{name: float(value) for name, value in vars(found).items()})


def _load_rows(published: PublishedCase) -> list[tuple[int, int, float, float, int]]:
    """Return the released loads, in MW and MVAr, with the numbers of the case file."""
    loads = published.network.case.loads or ()
    numbers = numbers_at_buses(load.bus for load in loads)
    return [
        (load.bus, number, load.p_mw, load.q_mvar, int(load.in_service))
        for load, number in zip(loads, numbers, strict=True)
    ]


def _optimum(network: Network, checked: OPFResult | None) -> OPFResult:
    """Return the AC-OPF of the published network: that of the method, where it was the same.

    An AC-OPF may have several local optima. So it starts as the verifier's does, who knows nothing:
    one that started near another solution does not count. Ipopt never starts so.
    """
    if (
        checked is not None
        and checked.solver.name == Solver.IPOPT
        and _same_but_for_rounding(checked.network, network)
    ):
        return replace(checked, network=network, violations=violations(network, checked.point))
    return solve_acopf(network)


def _same_but_for_rounding(one: Network, other: Network) -> bool:
    """Whether networks are the same, but for loads that went through MW and back."""
    parts = ("buses", "generators", "lines")
    same = all(getattr(one, part) == getattr(other, part) for part in parts)
    apart = np.abs(one.loads.values - other.loads.values)
    return same and bool(np.all(apart <= _ROUNDING * (1 + np.abs(other.loads.values))))


def _solves(basis: Basis, restored: Restored, opf: OPFResult | None) -> list[StatedSolve]:
    """Return what solved the central programs of a release: target, restoring, AC-OPF."""
    parts = {
        "target": basis.target_solvers,
        "fidelity phase": restored.solvers,
        "optimal cost": () if opf is None else (opf.solver,),
    }
    return [
        StatedSolve(what=what, solver=one.name, version=one.version, device=one.device.value)  # type: ignore[arg-type]
        for what, solvers in parts.items()
        for one in solvers
    ]
