"""Which numbers may stand in the files of a release: private ones, and what follows from them.

For the last scan (scan.py), which takes any other number that equals a raw load for a leak. Nothing
explains itself that the case file and the table of loads hold: their numbers have to be those of
the owner's model, or what the fidelity phase found. Both are taken from where they were before any
file was made, by a list of columns of our own, so that a mistake in making files is no excuse.

Only figures of the certificate, which are not recomputed here, are taken as they stand in it.
"""

import json
from collections.abc import Iterator

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.fidelity.bands import shares_of_range
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.result import Restored
from gridveil.network.case_file import COLUMNS
from gridveil.network.components import LoadList
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint, complex_flows
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.total import NoisyTotal
from gridveil.publication.certificate import Certificate
from gridveil.publication.folder import HISTORY, POSITIONS
from gridveil.publication.make import Release
from gridveil.publication.page_data import read_history
from gridveil.publication.report.charts import HOT, curve_ticks
from gridveil.publication.report.html import page_texts
from gridveil.publication.scan.scan import Explained

_MODEL = {
    "bus": ("bus_i", "type", "Gs", "Bs", "area", "baseKV", "zone", "Vmax", "Vmin"),
    "gen": tuple(name for name in COLUMNS["gen"] if name not in ("Pg", "Qg", "Vg")),
    "branch": COLUMNS["branch"],
}
"""The columns that hold the model of a network, and neither loads nor a solution."""
_PIECEWISE_LINEAR = 1
_COUNTED = (
    "cumulative_epsilon",
    "cumulative_distance_mva",
    "cumulative_relative_distance",
    "cumulative_floor_mva",
)
"""What the ledger counted, which sees no load."""


def explained(
    network: Network,
    made: Release,
    noisy: NoisyLoads,
    total: NoisyTotal | None,
    texts: tuple[str | bytes, ...],
    idle: LoadList,
    kept: str = "",
) -> Explained:
    """Return what may stand in the files of a release.

    Args:
        network: The owner's network, of which the model alone explains anything.
        made: The release.
        noisy: The private loads it was made from.
        total: The private total, if one was bought.
        texts: What was written before anything was drawn.
        idle: The private loads that are out of service.
        kept: What the owner publishes of the source as it stands.
    """
    private = np.stack([noisy.p, noisy.q], axis=1)
    numbers = [private, *model_numbers(network), *_restored(made), *_stated(made)]
    numbers += [idle.values * network.base_mva, network.listed_loads.number.astype(float)]
    released = np.concatenate([made.published.network.loads.values, idle.values])
    if total is not None:
        numbers.append(np.array([total.p, total.q]))
    return Explained(
        numbers=tuple(numbers),
        texts=(*texts, *page_texts(), made.files[POSITIONS]),  # drawn from the blank network
        private=private,
        released=released,
        grid_step=noisy.guarantee.step if noisy.guarantee.kind is Metric.ABSOLUTE else None,
        kept=kept,
        ratings=_ratings_as_written(made.certificate),
    )


def without_ratings(draft: Certificate) -> bytes:
    """Return a draft of the certificate that explains nothing by ratings of loads.

    Where they were declared they may stand, whatever they agree with; nowhere else.
    """
    named = {name: text for name, text in draft.protection.parameters.items() if name != "ratings"}
    protection = draft.protection.model_copy(update={"parameters": named})
    return draft.model_copy(update={"protection": protection}).to_bytes()


def model_numbers(network: Network) -> Iterator[FloatArray]:
    """Give the numbers of an owner's file that are published as they are.

    Args:
        network: The owner's network.
    """
    tables = network.case.tables
    yield np.array([network.base_mva])
    for name, columns in _MODEL.items():
        yield from (tables[name].column(column) for column in columns)
    costs = tables["gencost"].values
    counted = 4 + costs[:, 3] * np.where(costs[:, 0] == _PIECEWISE_LINEAR, 2, 1)
    yield costs[np.arange(costs.shape[1]) < counted[:, None]]


def _restored(made: Release) -> Iterator[FloatArray]:
    """Give the numbers of the loads and the operating point found, and of what they cost."""
    yield from operating_numbers(made.restored.network, made.restored.point)
    yield from _held_to(made.restored)
    if HISTORY in made.files:  # of agents, which had private loads only
        history = read_history(made.files[HISTORY])
        yield np.stack([history.primal, history.dual, history.rho, history.cost])
        yield np.arange(len(history) + 1.0)
        if np.isfinite(history.cost).all():
            yield curve_ticks(history.cost)


def operating_numbers(network: Network, point: OperatingPoint) -> Iterator[FloatArray]:
    """Give the numbers of private loads, their operating point and what pages say of both."""
    base = network.base_mva
    yield from (network.loads.values * base, np.stack(network.bus_load()) * base)
    yield from (point.v, np.degrees(point.theta), point.p * base, point.q * base)
    flows = np.abs(np.stack(complex_flows(network, point)))
    loading = flows.max(axis=0, initial=0.0) / network.lines.rate
    yield flows * base
    yield loading
    yield np.array([(loading > hot).sum() for hot in (-1.0, HOT)])
    yield np.array([np.isfinite(network.lines.rate).sum()])
    yield network.lines.rate * base


def _stated(made: Release) -> Iterator[FloatArray]:
    """Give the figures of the certificate."""
    stated = made.certificate
    if stated.costs is not None and stated.costs.true_cost is not None:
        yield np.array([stated.costs.true_cost.low, stated.costs.true_cost.high])
    figures = {**vars(stated.fidelity), **vars(stated.fidelity.violations)}
    figures |= {name: getattr(stated.protection, name) for name in _COUNTED}
    yield np.array([value for value in figures.values() if isinstance(value, float)])
    yield np.array(list(stated.protection.also_spent.values()))


def _ratings_as_written(certificate: Certificate) -> str:
    """Return the ratings of loads as they stand in the file of the certificate."""
    return json.dumps(certificate.protection.parameters.get("ratings", ""))[1:-1]


def _held_to(restored: Restored) -> Iterator[FloatArray]:
    """Give the numbers of what generators are held to, and how far they are from it."""
    network, outputs = restored.network, restored.point.p
    if restored.band.on_costs:
        costs = network.generators.costs(outputs)
        yield from (costs, _relative(costs, restored.target), restored.target)
    if restored.band is BandKind.DISPATCH:
        yield restored.target * network.base_mva
        yield shares_of_range(network.generators, outputs, restored.target)


def _relative(costs: FloatArray, targets: FloatArray) -> FloatArray:
    size = np.abs(targets)
    return np.divide(costs - targets, size, out=np.zeros_like(costs), where=size != 0)
