"""Buses and branches of a pandapower net as MATPOWER's tables, by pandapower's own conversion.

The conversion sees a net without loads, generation or results: what shapes admittances is all it
gets. Its branches may have conductances and two different ends; these parts go into the shunts of
the buses, which leaves the flow equations the same:

    pandapower:  Y_ff = (y + c_f/2)/τ²,  Y_tt = y + c_t/2,  c = g + jb
    here:        Y_ff = (y + jb/2)/τ²,   Y_tt = y + jb/2,   b = Im c_f
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import COLUMNS
from gridveil.network.conversion import ISOLATED
from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.printable import excerpt

_PASSIVE = (
    "bus", "line", "trafo", "trafo3w", "impedance", "switch", "shunt", "ward", "xward", "ext_grid",
)  # fmt: skip
"""The tables that shape the admittances, or say where the network is fed."""
_CHARACTERISTICS = "characteristic"
"""Part of the names of tables with characteristics of transformers and shunts."""
_LONGEST = 300
NO_LIMITS = 0.0, 2.0
"""Voltage limits where a net has none, in p.u.: those of pandapower's OPF."""


@dataclass(frozen=True)
class Topology:
    """The passive part of a net; all rows refer to buses by their rows here."""

    number: IntArray
    """The number of each bus: the least index of the pandapower buses it joins, plus 1."""
    bus_row: Mapping[int, int]
    """The row of each bus of the net, by its index there; internal buses of elements too."""
    internal: Mapping[str, IntArray]
    """Indices of the internal buses of three-winding transformers and extended wards."""
    isolated: BoolArray
    island: IntArray
    base_kv: FloatArray
    v_min: FloatArray
    v_max: FloatArray
    shunt: FloatArray
    """Gs and Bs of each bus."""
    branch: FloatArray = field(repr=False)
    """MATPOWER's branch table."""
    rating: FloatArray
    """The rating of the branches in service at each bus in MVA; infinite where one has none."""
    base_mva: float
    notes: tuple[str, ...] = ()

    def row(self, bus: Any) -> int:
        """Return the row of a bus of the net; −1 where there is no such bus."""
        return self.bus_row.get(int(bus), -1)

    def row_of(self, numbers: Any) -> IntArray:
        """Return the rows of buses by their numbers."""
        order = np.argsort(self.number)
        return order[np.searchsorted(self.number[order], np.asarray(numbers))]


def topology(net: Any) -> Topology:
    """Return the buses and branches of a net.

    Raises:
        GridveilError: pandapower cannot convert them, or they cannot be said as branches.
    """
    bare = _without_power(net)
    ppc = _converted(bare)
    lookups = bare["_pd2ppc_lookups"]
    rows, bus_row = _used_rows(bare, ppc, lookups)
    place = np.full(len(ppc["bus"]), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    ends = place[np.real(ppc["branch"][:, :2]).astype(np.int64)]
    placed = {index: int(place[row]) for index, row in bus_row.items()}
    number = _numbers(placed, len(rows))
    types = ppc["bus"][rows, 1]
    branches = _Branches(bare, ppc, lookups["branch"], ends)
    on = branches.in_service
    graph = coo_array((np.ones(on.sum()), tuple(ends[on].T)), shape=(len(rows), len(rows)))
    v_min, v_max, limited = _voltage_limits(net, placed, len(rows))
    return Topology(
        number=number,
        bus_row=placed,
        internal=dict(lookups["aux"]),
        isolated=np.asarray(types == ISOLATED),
        island=connected_components(graph, directed=False)[1].astype(np.int64),
        base_kv=ppc["bus"][rows, COLUMNS["bus"].index("baseKV")],
        v_min=v_min,
        v_max=v_max,
        shunt=ppc["bus"][rows][:, [4, 5]] + branches.shunts(len(rows)) * float(ppc["baseMVA"]),
        branch=branches.table(number),
        rating=branches.ratings(len(rows)),
        base_mva=float(ppc["baseMVA"]),
        notes=(*branches.notes(), *_bus_notes(net, placed, limited)),
    )


def highest_voltage(bus: FloatArray, branch: FloatArray) -> FloatArray:
    """Return the highest voltage allowed at either end of each branch, 1 where none is given.

    Times it, a limit of the current is one of apparent power: a current carries the more power
    the higher the voltage, so that no operating point that keeps the current's limit is lost.

    Args:
        bus: MATPOWER's bus table.
        branch: MATPOWER's branch table.
    """
    number, v_max = (bus[:, COLUMNS["bus"].index(name)] for name in ("bus_i", "Vmax"))
    ceiling = np.where((v_max > 0) & (v_max < NO_LIMITS[1]), v_max, 1.0)
    order = np.argsort(number)
    ends = (branch[:, COLUMNS["branch"].index(name)] for name in ("fbus", "tbus"))
    rows = (order[np.searchsorted(number[order], end)] for end in ends)
    return np.maximum(*(ceiling[row] for row in rows))


def _without_power(net: Any) -> Any:
    """Return a net with what shapes the admittances alone."""
    bare = import_pandapower().create_empty_network(f_hz=net.f_hz, sn_mva=net.sn_mva)
    for name, table in net.items():
        if name in _PASSIVE or (_CHARACTERISTICS in name and hasattr(table, "columns")):
            bare[name] = table.copy()
    for name in ("ward", "xward"):
        bare[name] = bare[name].assign(ps_mw=0.0, qs_mvar=0.0)
    if "slack" in net.gen.columns:
        bare["gen"] = net.gen[net.gen.slack.eq(True)].assign(p_mw=0.0)
    return bare


def _converted(bare: Any) -> Any:
    """Return PYPOWER's tables of a net, what is out of service included."""
    from pandapower.auxiliary import _add_ppc_options  # type: ignore[import-untyped]
    from pandapower.pd2ppc import _pd2ppc  # type: ignore[import-untyped]

    bare["_options"] = {}
    try:
        _add_ppc_options(
            bare,
            calculate_voltage_angles=True,
            trafo_model="t",
            check_connectivity=True,
            mode="pf",
            switch_rx_ratio=2,
            enforce_p_lims=False,
            enforce_q_lims=False,
            recycle=None,
        )
        return _pd2ppc(bare)[0]
    except Exception as error:  # many kinds; there is no load that their texts could show
        what = excerpt(str(error), _LONGEST) or type(error).__name__
        raise GridveilError(f"pandapower cannot convert the net: {what}") from error


def _used_rows(bare: Any, ppc: Any, lookups: Any) -> tuple[IntArray, dict[int, int]]:
    """Return the rows of PYPOWER's buses that are in use, and that of each index of the net."""
    indices = [bare.bus.index.to_numpy(dtype=np.int64), *lookups["aux"].values()]
    lookup = lookups["bus"]
    bus_row = {int(i): int(lookup[i]) for group in indices for i in group}
    used = {*bus_row.values(), *np.real(ppc["branch"][:, :2]).astype(int).ravel().tolist()}
    return np.array(sorted(used), dtype=np.int64), bus_row


def _numbers(placed: Mapping[int, int], count: int) -> IntArray:
    """Return numbers by the least index each bus joins, open ends of branches after these."""
    number = np.zeros(count, dtype=np.int64)
    for index in sorted(placed, reverse=True):
        number[placed[index]] = index + 1
    ends = np.flatnonzero(number == 0)
    number[ends] = max(placed, default=0) + 2 + np.arange(len(ends))
    return number


def _voltage_limits(
    net: Any, placed: Mapping[int, int], count: int
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the limits at each bus, the tightest of those it joins, and which buses have any."""
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    rows = np.array([placed[int(i)] for i in net.bus.index], dtype=np.int64)
    if "min_vm_pu" in net.bus.columns:
        np.fmax.at(low, rows, net.bus.min_vm_pu.to_numpy(dtype=float))
    if "max_vm_pu" in net.bus.columns:
        np.fmin.at(high, rows, net.bus.max_vm_pu.to_numpy(dtype=float))
    limited = np.isfinite(low) & np.isfinite(high)
    return (
        np.where(np.isfinite(low), low, NO_LIMITS[0]),
        np.where(np.isfinite(high), high, NO_LIMITS[1]),
        limited,
    )


def _bus_notes(net: Any, placed: Mapping[int, int], limited: BoolArray) -> list[str]:
    rows = {placed[int(i)] for i in net.bus.index}
    notes = []
    if len(rows) < len(net.bus):
        notes.append(f"closed switches join {len(net.bus)} buses to {len(rows)}")
    without = sum(not limited[row] for row in rows)
    if without:
        low, high = NO_LIMITS
        notes.append(
            "buses without voltage limits (min_vm_pu, max_vm_pu in net.bus) get "
            f"{low:g} to {high:g} p.u., as in pandapower's OPF ({without})"
        )
    return notes


class _Branches:
    """PYPOWER's branches, with the kinds of elements they come from."""

    def __init__(self, net: Any, ppc: Any, lookup: Any, ends: IntArray) -> None:
        from pandapower.pypower import idx_brch  # type: ignore[import-untyped]

        def column(name: str) -> FloatArray:
            return np.asarray(np.real(ppc["branch"][:, getattr(idx_brch, name)]), dtype=float)

        self._net, self._range, self._ends = net, lookup, ends
        self.in_service = column("BR_STATUS") > 0
        self._r, self._x, self._b = column("BR_R"), column("BR_X"), column("BR_B")
        self._g, self._tap, self._shift = column("BR_G"), column("TAP"), column("SHIFT")
        self._limit = column("RATE_A")
        self._tap[self._tap == 0] = 1.0
        self._more_at_to = column("BR_G_ASYM") + 1j * column("BR_B_ASYM")
        self._refuse_asymmetric(column("BR_R_ASYM") + 1j * column("BR_X_ASYM"))
        self._tidy()

    def _refuse_asymmetric(self, asymmetry: Any) -> None:
        start, _ = self._range.get("impedance", (0, 0))
        rows = np.flatnonzero((asymmetry != 0) & self.in_service)
        if len(rows):
            index = self._net.impedance.index[rows[0] - start]
            raise GridveilError(
                f"impedance {index}: its impedance differs by direction (rft_pu and rtf_pu, xft_pu "
                "and xtf_pu), which no line or transformer does; make them the same"
            )

    def _tidy(self) -> None:
        """Set what is no number to 0 where a branch is out of service anyway."""
        for values in (self._r, self._x, self._b, self._g, self._tap, self._shift, self._limit):
            values[~self.in_service & ~np.isfinite(values)] = 0.0

    def shunts(self, buses: int) -> FloatArray:
        """Return what moves into the shunts of buses, as conductance and susceptance in p.u."""
        at_from = 0.5 * self._g / self._tap**2 + 0j
        at_to = 0.5 * (self._g + self._more_at_to)
        total = np.zeros(buses, dtype=complex)
        on = self.in_service
        np.add.at(total, self._ends[on, 0], at_from[on])
        np.add.at(total, self._ends[on, 1], at_to[on])
        return np.stack([total.real, total.imag], axis=1)

    def table(self, number: IntArray) -> FloatArray:
        """Return MATPOWER's branch table."""
        rows = np.zeros((len(self._r), len(COLUMNS["branch"])))
        columns: Sequence[tuple[str, Any]] = (
            ("fbus", number[self._ends[:, 0]]), ("tbus", number[self._ends[:, 1]]),
            ("r", self._r), ("x", self._x), ("b", self._b), ("rateA", self._limits()),
            ("ratio", self._tap), ("angle", self._shift), ("status", self.in_service),
            ("angmin", -360.0), ("angmax", 360.0),
        )  # fmt: skip
        for name, values in columns:
            rows[:, COLUMNS["branch"].index(name)] = values
        return rows

    def _limits(self) -> FloatArray:
        """Return the limit of each branch in MVA; 0 is none."""
        limits = np.zeros(len(self._r))
        for kind in ("line", "trafo", "trafo3w"):
            if kind in self._range and "max_loading_percent" in self._net[kind].columns:
                at = slice(*self._range[kind])
                limits[at] = np.nan_to_num(self._limit[at])
        return limits

    def ratings(self, buses: int) -> FloatArray:
        """Return the sum of the ratings of the branches in service at each bus."""
        net, rating = self._net, np.full(len(self._r), np.inf)
        if "line" in self._range:
            line = net.line
            kv = net.bus.vn_kv.loc[line.from_bus].to_numpy(dtype=float)
            ka = (line.max_i_ka * line.df * line.parallel).to_numpy(dtype=float)
            rating[slice(*self._range["line"])] = np.sqrt(3) * kv * ka
        if "trafo" in self._range:
            trafo = net.trafo
            mva = (trafo.sn_mva * trafo.df * trafo.parallel).to_numpy(dtype=float)
            rating[slice(*self._range["trafo"])] = mva
        if "trafo3w" in self._range:
            sides = [
                net.trafo3w[f"sn_{side}_mva"].to_numpy(dtype=float) for side in ("hv", "mv", "lv")
            ]
            rating[slice(*self._range["trafo3w"])] = np.concatenate(sides)
        rating[np.isnan(rating)] = np.inf
        total, on = np.zeros(buses), self.in_service
        for end in range(2):
            np.add.at(total, self._ends[on, end], rating[on])
        return np.where(total > 0, total, np.inf)

    def notes(self) -> list[str]:
        """Return what was changed."""
        on, notes = self.in_service, []
        if self._limits()[on].any():
            notes.append(
                "limits of currents count as limits of apparent power at the highest voltage "
                "allowed at either end (1 p.u. where none is given)"
            )
        moved = int((on & ((self._g != 0) | (self._more_at_to != 0))).sum())
        if moved:
            notes.append(
                "iron losses and conductances stand as shunts at the ends of their branches, "
                f"with the same equations ({moved})"
            )
        if "trafo3w" in self._range:
            notes.append(f"three-winding transformers have star buses ({len(self._net.trafo3w)})")
        return notes
