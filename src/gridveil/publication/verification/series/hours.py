"""Every hour of a released series, recomputed: power balance, limits, costs, ramps, optimal costs.

Formulas are the verifier's own (recompute.py), over the case file with the loads, voltages and
outputs of each hour in it. Optimal costs take an AC-OPF each; they are checked for hours that the
verifier draws itself, or for all.
"""

import csv
import io
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.claims import Claim, claim, number_claim, stated
from gridveil.device import Device
from gridveil.fidelity.base import BandKind, CostGaps
from gridveil.fidelity.series.result import Ending
from gridveil.files import csv_bytes
from gridveil.network.case_file import COLUMNS, CaseFile
from gridveil.network.conversion import in_service
from gridveil.network.network import Network
from gridveil.network.series.load_series import hour_text
from gridveil.opf.acopf import solve_acopf
from gridveil.opf.ramps import COLUMNS as RAMP_COLUMNS
from gridveil.opf.solvers import Solver, chosen, using
from gridveil.parallel import in_parallel
from gridveil.publication.certificate import StatedCosts
from gridveil.publication.post_processing import are_at
from gridveil.publication.series.statements import target_source
from gridveil.publication.series.tables import RAMPS
from gridveil.publication.statements import cost_digits, dispatch_rounded, rounded
from gridveil.publication.verification.fidelity import kept_claims
from gridveil.publication.verification.recompute import (
    Recomputed,
    recompute,
    relative_difference,
    worst_generator,
)
from gridveil.publication.verification.series.files import SeriesFiles

SAMPLE = 24
"""Hours whose optimal costs are checked, if not all are."""
_FEASIBLE = 1e-6
_EXACT = 1e-9
_SOLVED = 1e-6
"""Relative difference of costs that two AC-OPFs, on other machines, may have."""
_CHUNK = 24
_OTHER = {Solver.IPOPT.value: Solver.INTERIOR_POINT, Solver.INTERIOR_POINT.value: Solver.IPOPT}
_FIGURES = ("violation", "displacement_mva", "cost_target", "cost_dispatch", "cost_optimal")
_VIOLATION, _TARGET, _DISPATCH, _OPTIMAL = 0, 2, 3, 4


@dataclass(frozen=True, eq=False)
class Hourly:
    """What was recomputed of the released hours."""

    found: Sequence[Recomputed]
    largest: FloatArray
    """The largest violation of each hour."""

    def worst(self, kind: str) -> float:
        """Return the largest violation of a kind in any hour."""
        return float(np.max([one.violations[kind] for one in self.found]))


def series_fidelity_claims(files: SeriesFiles, full: bool) -> Iterator[Claim]:
    """Compute every figure of the released hours again.

    Args:
        files: The release.
        full: Whether the optimal costs of all hours are checked, and not those of a sample.
    """
    tables, of = files.tables, files.certificate.fidelity
    yield from _listed(files)
    if not len(tables.released):
        yield claim("hours", "some", "none was released", ok=False)
        return
    hourly = _recomputed(files)
    worst = int(np.argmax(hourly.largest))
    near = np.abs(hourly.largest - tables.figures[tables.released, _VIOLATION]) <= _EXACT
    yield _of_all("violation of each hour", near, tables.released)
    for kind in hourly.found[0].violations:
        value = hourly.worst(kind)
        claimed = getattr(of.violations, kind)
        ok = bool(abs(claimed - value) <= _EXACT)
        yield claim(f"violation: {kind.replace('_', ' ')}", f"{claimed:.3g}", f"{value:.3g}", ok)
    largest = float(hourly.largest[worst])
    ok = bool(abs(of.max_violation - largest) <= _EXACT)
    yield claim("largest violation", f"{of.max_violation:.3g}", f"{largest:.3g}", ok)
    mean, stated_mean = float(hourly.largest.mean()), files.series.mean_violation
    near_mean = bool(abs(mean - stated_mean) <= _EXACT)
    yield claim("mean violation", f"{stated_mean:.3g}", f"{mean:.3g}", near_mean)
    every = f"{len(tables.released)} hours, to {_FEASIBLE:g} p.u."
    yield claim("AC-feasible", every, f"{largest:.1e} in the worst", largest <= _FEASIBLE)
    yield from _consumers(files)
    yield from _ramps(files)
    band = BandKind(of.band)
    if band.on_costs:
        yield from _costs(files, hourly)
        yield from _optimal(files, full)
    elif band is BandKind.DISPATCH:
        yield from _dispatch(files, hourly)
    else:
        yield from kept_claims(files.certificate, CostGaps())
    yield stated("solver's status", of.status, "how the solver of the release ended")
    why = "private loads are not published before restoration"
    yield stated("displacement of each hour", "as in hours.parquet", why)


def _listed(files: SeriesFiles) -> Iterator[Claim]:
    """Check that hours left out are named, and that the case file has the hour it should."""
    tables, series = files.tables, files.series
    left_out = sorted(set(range(tables.hours)) - set(tables.released.tolist()))
    named = [hour_text(tables.first_hour + hour) for hour in left_out]
    shown = f"{len(series.left_out)} hours"
    yield claim("hours left out", shown, f"{len(named)} without loads", series.left_out == named)
    counts = {ending.words: tables.endings.count(ending.words) for ending in Ending}
    ok = counts == series.endings and sum(counts.values()) == tables.hours
    yield claim("how hours ended", str(series.endings), str(counts), ok)
    yield _empty_columns(files)
    if not len(tables.released):
        return
    at, total = files.network_row, tables.loads[..., 0].sum(axis=1)
    ok = bool(total[at] >= total.max() - _EXACT * abs(total.max()))
    found = "it has" if ok else "another hour has more"
    yield claim("largest load", f"at {series.network_hour}", found, ok)
    again = case_at(files, at)
    same = all(
        np.allclose(again.tables[name].values, files.case.tables[name].values, rtol=0, atol=1e-7)
        for name in ("bus", "gen")
    )
    claimed = f"the hour {series.network_hour} of the tables"
    yield claim("loads and dispatch in network.m", claimed, "they are" if same else "others", same)
    violations = tables.figures[tables.released, _VIOLATION]
    worst = series.worst_hour in [
        hour_text(tables.first_hour + int(tables.released[i]))
        for i in np.flatnonzero(violations >= violations.max() - _EXACT)
    ]
    yield claim("worst hour", series.worst_hour, "it is" if worst else "another", worst)


def _empty_columns(files: SeriesFiles) -> Claim:
    """Check that nothing stands where a release has no number: no byte of it would be explained."""
    tables, band = files.tables, BandKind(files.certificate.fidelity.band)
    left_out = np.setdiff1d(np.arange(tables.hours), tables.released)
    parts = [tables.figures[left_out]]
    if not band.on_costs:
        parts.append(tables.figures[:, _TARGET:])
    if band is BandKind.NONE:
        parts.append(tables.dispatch[..., 2])
    ok = all(bool(np.isnan(part).all()) for part in parts)
    found = "empty" if ok else "numbers that nothing explains"
    return claim("columns without numbers", "empty", found, ok)


def case_at(files: SeriesFiles, at: int) -> CaseFile:
    """Return the case file with loads, voltages and outputs of a released hour."""
    case, tables = files.case, files.tables
    bus, gen = (case.tables[name].values.copy() for name in ("bus", "gen"))
    parts = in_service(case)
    live, gens = np.flatnonzero(parts.bus), np.flatnonzero(parts.generator)
    bus_columns, gen_columns = COLUMNS["bus"].index, COLUMNS["gen"].index
    for column, values in zip(("Pd", "Qd"), tables.loads[at].T, strict=True):
        bus[:, bus_columns(column)] = np.bincount(files.load_rows, values, len(bus))
    for column, values in zip(("Vm", "Va"), tables.voltages[at].T, strict=True):
        bus[live, bus_columns(column)] = values
    for column, values in zip(("Pg", "Qg"), tables.dispatch[at, :, :2].T, strict=True):
        gen[gens, gen_columns(column)] = values
    at_bus = parts.rows_of(gen[gens, gen_columns("bus")])
    gen[gens, gen_columns("Vg")] = bus[at_bus, bus_columns("Vm")]
    changed = {
        "bus": replace(case.tables["bus"], values=bus),
        "gen": replace(case.tables["gen"], values=gen),
    }
    return replace(case, tables={**case.tables, **changed})


def _recomputed(files: SeriesFiles) -> Hourly:
    found = [recompute(case_at(files, at)) for at in range(len(files.tables.released))]
    return Hourly(found, np.array([one.largest_violation for one in found]))


def _of_all(name: str, near: BoolArray, released: IntArray) -> Claim:
    """Return a claim about all hours, with how many it does not hold for."""
    wrong, hours = int((~near).sum()), len(released)
    found = f"the same in all {hours} hours" if not wrong else f"another in {wrong} of {hours}"
    return claim(name, "as in hours.parquet", found, not wrong)


def _costs(files: SeriesFiles, hourly: Hourly) -> Iterator[Claim]:
    """Check costs of the dispatch and targets of every hour, and what is said of all together."""
    tables, of = files.tables, files.certificate.fidelity
    figures, targets = tables.figures[tables.released], tables.dispatch[..., 2]
    costs = np.array([one.generator_costs for one in hourly.found])
    sums = {_TARGET: targets.sum(axis=1), _DISPATCH: costs.sum(axis=1)}
    for index, value in sums.items():
        near = np.isclose(figures[:, index], value, rtol=_EXACT, atol=_EXACT)
        yield _of_all(_FIGURES[index].replace("_", " "), near, tables.released)
    yield from _target_claims(files, targets, hourly)
    target, dispatch = float(sums[_TARGET].sum()), float(sums[_DISPATCH].sum())
    optimal = float(figures[:, _OPTIMAL].sum())
    gaps = [worst_generator(*pair) for pair in zip(costs, targets, strict=True)]
    for name, claimed, value in (
        ("costs O* of all hours ($)", of.cost_target, target),
        ("costs of the dispatch ($)", of.cost_dispatch, dispatch),
        ("its gap to O*", of.cost_gap_dispatch, relative_difference(dispatch, target)),
        ("worst generator's gap", of.worst_generator_gap, max(gaps)),
        ("optimal costs ($)", of.cost_optimal, optimal),
        ("their gap to O*", of.cost_gap_optimal, relative_difference(optimal, target)),
    ):
        assert claimed is not None
        yield number_claim(name, claimed, value, _EXACT, _EXACT)
    each = [
        CostGaps(relative_difference(a, t), gap, relative_difference(o, t))
        for a, t, o, gap in zip(
            sums[_DISPATCH].tolist(),
            sums[_TARGET].tolist(),
            figures[:, _OPTIMAL].tolist(),
            gaps,
            strict=True,
        )
    ]
    yield from kept_claims(
        files.certificate,
        CostGaps(
            max((one.dispatch for one in each), key=abs),
            max(gaps),
            max((one.optimal for one in each), key=abs),
        ),
    )


def _dispatch(files: SeriesFiles, hourly: Hourly) -> Iterator[Claim]:
    """Check how far the outputs of every hour are from p*."""
    targets, base = files.tables.dispatch[..., 2], files.case.base_mva
    yield from _target_claims(files, targets, hourly)
    largest = max(
        one.largest_deviation(target, base)
        for one, target in zip(hourly.found, targets, strict=True)
    )
    claimed = files.certificate.fidelity.largest_deviation
    assert claimed is not None
    yield number_claim("largest deviation from p*", claimed, largest, _EXACT, _EXACT)
    yield from kept_claims(files.certificate, CostGaps(deviation=largest))


def _target_claims(files: SeriesFiles, targets: FloatArray, hourly: Hourly) -> Iterator[Claim]:
    """Check what can be checked of hourly targets, which follow from loads not published."""
    certificate, base = files.certificate, files.case.base_mva
    held_to, beta = certificate.stated_target, certificate.fidelity.beta
    assert held_to is not None
    on_costs = isinstance(held_to, StatedCosts)
    values = held_to.dollars_per_hour if isinstance(held_to, StatedCosts) else held_to.megawatts
    rows = held_to.generators == files.tables.generators.tolist()
    same = rows and bool(np.allclose(values, targets.mean(axis=0), rtol=_EXACT, atol=_EXACT))
    short = "O*" if on_costs else "p*"
    yield claim(
        f"mean {short} of each generator", "as stated", "the same" if same else "others", same
    )
    few = all(
        np.allclose(
            row,
            rounded(row, cost_digits(beta))
            if on_costs
            else dispatch_rounded(row, hourly.found[0].ranges, beta, base),
            rtol=_EXACT,
            atol=_EXACT,
        )
        for row in targets
    )
    yield claim(f"digits of {short}", "what β can use", "no more" if few else "more", few)
    source = target_source(hourly.found[0].has_costs)
    yield claim(f"source of {short}", held_to.source, source, held_to.source == source)
    why = "only the owner has the private loads that they follow from"
    yield stated(f"hourly {short}", held_to.provenance, why)


def _consumers(files: SeriesFiles) -> Iterator[Claim]:
    """Check that the loads of consumers keep their limits in every hour."""
    of = files.certificate.post_processing
    if of is None or not of.consumers:
        return
    at = np.flatnonzero(are_at(files.certificate.load_buses, of.consumers))
    p, q = np.moveaxis(files.tables.loads[:, at], 2, 0) / files.case.base_mva
    least = float(np.min(p, initial=np.inf))
    yield claim(
        "active power of consumers",
        f"0 or more, to {_FEASIBLE:g} p.u.",
        f"{least:.3g} p.u. or more",
        least >= -_FEASIBLE,
    )
    if of.power_factor is not None:
        slope = np.sqrt(1 / of.power_factor**2 - 1)
        beyond = float(np.max(np.abs(q) - p * slope))
        found = f"Q off by {max(beyond, 0.0):.1e} p.u. at most"
        claimed = f"{of.power_factor:g} or more, to {_FEASIBLE:g} p.u. of Q"
        yield claim("power factor of consumers", claimed, found, beyond <= _FEASIBLE)


def _ramps(files: SeriesFiles) -> Iterator[Claim]:
    """Check by how much outputs change from hour to hour beyond ramp limits."""
    series, tables = files.series, files.tables
    if not series.has_ramps:
        ok = series.ramp_excess is None
        yield claim("ramp limits", "none", "none" if ok else "an excess over some", ok)
        return
    rows = list(csv.reader(io.StringIO(files.contents[RAMPS].decode())))
    yield _ramps_spelling(files, rows)
    limit = np.full(len(tables.generators), np.inf)
    place = {row: g for g, row in enumerate(tables.generators.tolist())}
    for row, mw in rows[1:]:
        limit[place[int(row)]] = float(mw)
    follows = np.diff(tables.released) == 1
    steps = np.abs(np.diff(tables.dispatch[..., 0], axis=0))[follows] - limit
    excess = float(np.max(steps, initial=0.0)) / files.case.base_mva
    assert series.ramp_excess is not None
    ok = abs(series.ramp_excess - excess) <= _EXACT
    yield claim(
        "ramp limits", f"broken by {series.ramp_excess:.1e} p.u. at most", f"{excess:.1e}", ok
    )


def _ramps_spelling(files: SeriesFiles, rows: list[list[str]]) -> Claim:
    """Check that the file of ramp limits has them, each once and in order, and nothing else."""
    limits = [(int(row), float(mw)) for row, mw in rows[1:]]
    places = [row for row, _ in limits]
    ok = bool(limits) and places == sorted(set(places))
    ok &= all(np.isfinite(mw) and mw > 0 for _, mw in limits)
    ok &= csv_bytes(RAMP_COLUMNS, limits) == files.contents[RAMPS]
    claimed = "its numbers and nothing else"
    return claim(RAMPS, claimed, "the same, byte by byte" if ok else "something else", ok)


def _optimal(files: SeriesFiles, full: bool) -> Iterator[Claim]:
    """Solve AC-OPFs of hours that are drawn here, or of all, and compare their costs."""
    tables, count = files.tables, len(files.tables.released)
    hours = list(range(count))
    if not full:
        hours = sorted(secrets.SystemRandom().sample(hours, min(SAMPLE, count)))
    loads = tables.loads / files.case.base_mva
    dispatched = tables.figures[tables.released, _DISPATCH]
    chunks = [hours[i : i + _CHUNK] for i in range(0, len(hours), _CHUNK)]
    tasks = [
        (n, _optimal_costs, (files.network, loads[chunk], dispatched[chunk], chosen()))
        for n, chunk in enumerate(chunks)
    ]
    costs = dict(in_parallel(tasks, -1 if len(chunks) > 1 else 1))
    fresh = np.concatenate([costs[n] for n in range(len(chunks))])
    claimed = tables.figures[tables.released[hours], _OPTIMAL]
    near = np.abs(fresh - claimed) <= _SOLVED * np.abs(fresh)
    what = f"of all {count} hours" if full else f"of {len(hours)} hours drawn here, of {count}"
    wrong = int((~near).sum())
    gap = (
        float(np.nanmax(np.abs(fresh - claimed) / np.abs(fresh)))
        if np.isfinite(fresh).any()
        else np.nan
    )
    found = f"the same to {gap:.1e}" if not wrong else f"another in {wrong}"
    yield claim("optimal cost", f"{what}, by a fresh AC-OPF", found, not wrong)


def _optimal_costs(
    network: Network, loads: FloatArray, published: FloatArray, solver: Solver
) -> FloatArray:
    """Return the optimal cost of hours; by another solver too where the published one is cheaper.

    Args:
        network: The network.
        loads: P and Q of every load in p.u., of shape (hours, loads, 2).
        published: What the published dispatch of each hour costs.
        solver: What solves them.
    """
    costs = np.full(len(loads), np.nan)
    with using(solver, Device.CPU):
        for hour, values in enumerate(loads):
            at = network.with_loads(*values.T)
            found = solve_acopf(at)
            if not found.status.solved or found.cost > published[hour] * (1 + _SOLVED):
                again = solve_acopf(at, solver=_OTHER.get(found.solver.name))
                if again.status.solved and not found.cost <= again.cost:
                    found = again
            if found.status.solved:
                costs[hour] = found.cost
    return costs
