"""What can be wrong with the tables of a pandapower net, found before anything is converted.

No message shows a value of a load.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gridveil.network.problems import Problem, ProblemKind

_POWERS = ("p_mw", "q_mvar", "scaling")
_PHASES = tuple(f"{power}_{phase}_{unit}" for power, unit in (("p", "mw"), ("q", "mvar"))
                for phase in "abc")  # fmt: skip
_BUSES: dict[str, tuple[str, ...]] = {
    "load": ("bus",), "sgen": ("bus",), "storage": ("bus",), "motor": ("bus",), "ward": ("bus",),
    "xward": ("bus",), "asymmetric_load": ("bus",), "asymmetric_sgen": ("bus",), "gen": ("bus",),
    "ext_grid": ("bus",), "shunt": ("bus",), "switch": ("bus",), "line": ("from_bus", "to_bus"),
    "impedance": ("from_bus", "to_bus"), "dcline": ("from_bus", "to_bus"),
    "trafo": ("hv_bus", "lv_bus"), "trafo3w": ("hv_bus", "mv_bus", "lv_bus"),
}  # fmt: skip
"""The columns that refer to a bus, by table."""
_NUMBERS: dict[str, tuple[str, ...]] = {
    "bus": ("vn_kv",),
    "load": _POWERS, "sgen": _POWERS, "storage": _POWERS, "motor": ("pn_mech_mw", "cos_phi"),
    "ward": ("ps_mw", "qs_mvar", "pz_mw", "qz_mvar"),
    "xward": ("ps_mw", "qs_mvar", "pz_mw", "qz_mvar", "r_ohm", "x_ohm", "vm_pu"),
    "asymmetric_load": _PHASES, "asymmetric_sgen": _PHASES, "gen": ("p_mw", "vm_pu"),
    "ext_grid": ("vm_pu", "va_degree"), "shunt": ("p_mw", "q_mvar", "step"),
    "line": (
        "length_km", "r_ohm_per_km", "x_ohm_per_km", "c_nf_per_km", "g_us_per_km", "df", "parallel",
        "max_i_ka",
    ),
    "trafo": (
        "sn_mva", "vn_hv_kv", "vn_lv_kv", "vk_percent", "vkr_percent", "pfe_kw", "i0_percent",
        "shift_degree", "df", "parallel",
    ),
    "trafo3w": ("vn_hv_kv", "vn_mv_kv", "vn_lv_kv", "sn_hv_mva", "sn_mv_mva", "sn_lv_mva"),
    "impedance": ("rft_pu", "xft_pu", "rtf_pu", "xtf_pu", "sn_mva"),
    "dcline": ("p_mw", "loss_percent", "loss_mw"),
}  # fmt: skip
"""The columns whose numbers must be there for every element in service, by table."""
_FLAG = "in_service"
_UNFLAGGED = ("switch",)


def net_problems(net: Any) -> list[Problem]:
    """Return what is wrong with the tables of a net; an empty list means they can be converted."""
    problems = [*_missing(net)]
    if problems:
        return problems
    if net.bus.empty:
        return [Problem(ProblemKind.MISSING, "net.bus is empty")]
    for table in dict.fromkeys((*_NUMBERS, *_BUSES)):
        problems += _doubled(net, table)
        problems += _not_numbers(net, table)
        problems += _unknown_buses(net, table)
    if not any(_feeds(net, table).any() for table in ("ext_grid", "gen")):
        reason = (
            "nothing feeds the net: net.ext_grid, or a row of net.gen with slack=True, must be in "
            "service"
        )
        problems.append(Problem(ProblemKind.REFERENCE, reason))
    return problems


def _missing(net: Any) -> Iterator[Problem]:
    for table in dict.fromkeys((*_NUMBERS, *_BUSES)):
        if not hasattr(net.get(table), "columns"):
            yield Problem(ProblemKind.MISSING, f"net.{table} is not a table")
            continue
        flag = () if table in _UNFLAGGED else (_FLAG,)
        for column in (*_BUSES.get(table, ()), *_NUMBERS.get(table, ()), *flag):
            if len(net[table]) and column not in net[table].columns:
                yield Problem(ProblemKind.MISSING, f"net.{table} has no column {column!r}")


def _doubled(net: Any, table: str) -> Iterator[Problem]:
    for index in net[table].index[net[table].index.duplicated()]:
        yield Problem(ProblemKind.DUPLICATE, f"net.{table}: the index {index} stands twice")


def _not_numbers(net: Any, table: str) -> Iterator[Problem]:
    rows = net[table]
    active = rows[_FLAG].eq(True).to_numpy() if _FLAG in rows.columns else np.ones(len(rows), bool)
    for column in _NUMBERS.get(table, ()):
        if column in rows.columns:
            good = np.array([_is_number(value) for value in rows[column]], dtype=bool)
            for index in rows.index[active & ~good]:
                reason = f"{table} {index}: {column} is missing or not a finite number"
                yield Problem(ProblemKind.NOT_A_NUMBER, reason)


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, str) and bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def _unknown_buses(net: Any, table: str) -> Iterator[Problem]:
    known = set(net.bus.index)
    for column in _BUSES.get(table, ()):
        if column in net[table].columns:
            for index, bus in net[table][column].items():
                if bus not in known:
                    reason = f"{table} {index}: {column} {bus} is not in net.bus"
                    yield Problem(ProblemKind.UNKNOWN_BUS, reason)


def _feeds(net: Any, table: str) -> Any:
    rows = net[table]
    feeds = rows[_FLAG].eq(True) if len(rows) else np.zeros(0, dtype=bool)
    return feeds & rows["slack"].eq(True) if table == "gen" and len(rows) else feeds
