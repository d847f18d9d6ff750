"""Transformers of a case as pandapower's converter understands them, without another power flow.

The converter puts every tap at the end of high voltage, where a case has it at the from end, and
takes charging of transformers for the current that magnetises them, of the other sign. So branches
are turned to begin at high voltage, and charging becomes shunts at both ends.
"""

from typing import Any

import numpy as np

from gridveil.arrays import IntArray
from gridveil.network.case_file import COLUMNS

_BUS, _BRANCH = (
    {name: COLUMNS[table].index(name) for name in names}
    for table, names in (
        ("bus", ("bus_i", "Bs", "baseKV")),
        ("branch", ("fbus", "tbus", "r", "x", "b", "ratio", "angle")),
    )
)


def prepare_transformers(ppc: dict[str, Any]) -> None:
    """Change the transformers of a case's tables so that they are converted to the same ones.

    Args:
        ppc: Tables bus and branch, in which a branch without a tap has the ratio 1.
    """
    bus, branch = ppc["bus"], ppc["branch"]
    ratio, angle = branch[:, _BRANCH["ratio"]], branch[:, _BRANCH["angle"]]
    transformers = np.flatnonzero((ratio != 1) | (angle != 0))
    ends = _rows(bus, branch[transformers, _BRANCH["fbus"]], branch[transformers, _BRANCH["tbus"]])
    _charging_to_shunts(ppc, transformers, ends)
    kv = bus[:, _BUS["baseKV"]]
    _turn(branch, transformers[kv[ends[0]] < kv[ends[1]]])


def _charging_to_shunts(ppc: dict[str, Any], lines: IntArray, ends: tuple[IntArray, ...]) -> None:
    """Put half of each branch's charging on either end; at the from end behind its tap."""
    branch, shunt = ppc["branch"], ppc["bus"][:, _BUS["Bs"]]
    half = branch[lines, _BRANCH["b"]] / 2 * ppc["baseMVA"]
    np.add.at(shunt, ends[0], half / branch[lines, _BRANCH["ratio"]] ** 2)
    np.add.at(shunt, ends[1], half)
    branch[lines, _BRANCH["b"]] = 0.0


def _turn(branch: Any, lines: IntArray) -> None:
    """Turn branches without charging around: seen from the other end, a tap τ is 1/τ."""
    tap = branch[lines, _BRANCH["ratio"]]
    ends = np.array([_BRANCH["fbus"], _BRANCH["tbus"]])
    branch[lines[:, None], ends] = branch[lines[:, None], ends[::-1]]
    for name in ("r", "x"):
        branch[lines, _BRANCH[name]] *= tap**2
    branch[lines, _BRANCH["ratio"]] = 1 / tap
    branch[lines, _BRANCH["angle"]] *= -1


def _rows(bus: Any, *numbers: Any) -> tuple[IntArray, ...]:
    order = np.argsort(bus[:, _BUS["bus_i"]])
    ordered = bus[order, _BUS["bus_i"]]
    return tuple(order[np.searchsorted(ordered, number)] for number in numbers)
