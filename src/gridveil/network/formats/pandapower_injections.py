"""What the loads of a pandapower net draw, and what its fixed elements draw or feed in.

Each is a load with a key of its own, such as "load 7", "sgen 2" or "dcline 0 to".
"""

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.formats.pandapower_topology import Topology
from gridveil.network.source_loads import SourceLoad

_VOLTAGE_DEPENDENT = ("const_z", "const_i")
_PHASES = "abc"


@dataclass(frozen=True)
class InjectionKind:
    """A table of a net whose elements draw or feed in what they are set to."""

    table: str
    public_as: str
    """By which name an owner declares it public; empty where it is a load."""
    powers: Callable[[Any], tuple[FloatArray, FloatArray]]
    """What its elements draw, in MW and MVAr."""


def injections(
    net: Any, place: Topology, flexible: Collection[str]
) -> Iterator[tuple[InjectionKind, SourceLoad]]:
    """Yield every load and every fixed element of a net, those out of service too.

    Args:
        net: The net.
        place: Where its buses are.
        flexible: Keys of the elements that are generators instead.

    Raises:
        GridveilError: A load depends on the voltage, or a power is no number.
    """
    _refuse_voltage_dependent(net)
    for kind in KINDS:
        table = net[kind.table]
        if len(table):
            p, q = _powers(kind, table)
            for i, (index, element) in enumerate(table.iterrows()):
                key = f"{kind.table} {index}"
                if key not in flexible:
                    yield kind, _source_load(place, key, element.bus, p[i], q[i], element)
    yield from _dc_lines(net, place)


def _source_load(
    place: Topology, key: str, bus: Any, p: float, q: float, element: Any
) -> SourceLoad:
    row, rating, name = place.row(bus), element.get("sn_mva", 0.0), element.get("name")
    if row < 0:
        raise GridveilError(f"{key}: there is no bus {bus} in net.bus")
    return SourceLoad(
        bus=int(place.number[row]),
        key=key,
        p_mw=float(p),
        q_mvar=float(q),
        in_service=bool(element.in_service),
        name=name if isinstance(name, str) else "",
        rating_mva=float(rating) if rating > 0 else 0.0,
    )


def _powers(kind: InjectionKind, table: Any) -> tuple[FloatArray, FloatArray]:
    try:
        return kind.powers(table)
    except (TypeError, ValueError):
        pass
    # Outside of the handler: the error may show a load.
    raise GridveilError(f"net.{kind.table}: a power or its scaling is not a number")


def _scaled(
    names: tuple[str, str], sign: int = 1
) -> Callable[[Any], tuple[FloatArray, FloatArray]]:
    """Return what reads two columns times their scaling, if they have any."""

    def read(table: Any) -> tuple[FloatArray, FloatArray]:
        p, q = (product(_numbers(table, name), _scaling(table)) for name in names)
        return sign * p, sign * q

    return read


def _phases(sign: int) -> Callable[[Any], tuple[FloatArray, FloatArray]]:
    """Return what reads the sum of three phases."""

    def read(table: Any) -> tuple[FloatArray, FloatArray]:
        p, q = (
            product(
                np.sum([_numbers(table, f"{name}_{phase}_{unit}") for phase in _PHASES], axis=0),
                _scaling(table),
            )
            for name, unit in (("p", "mw"), ("q", "mvar"))
        )
        return sign * p, sign * q

    return read


def _motors(table: Any) -> tuple[FloatArray, FloatArray]:
    """Return what motors draw: their mechanical power by loading, efficiency and cos φ."""
    loading = _numbers(table, "loading_percent") / 100 * _scaling(table)
    p = _numbers(table, "pn_mech_mw") / _numbers(table, "efficiency_percent") * 100 * loading
    cosine = _numbers(table, "cos_phi")
    return p, np.abs(p) * np.sqrt(1 / cosine**2 - 1)


def _numbers(table: Any, name: str) -> FloatArray:
    return np.asarray(table[name].to_numpy(dtype=float))


def _scaling(table: Any) -> FloatArray:
    return _numbers(table, "scaling") if "scaling" in table.columns else np.ones(len(table))


def product(values: FloatArray, scaling: FloatArray) -> FloatArray:
    """Return powers times their scaling; products beyond all numbers become the largest."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * scaling
    largest = np.isinf(scaled) & np.isfinite(values) & np.isfinite(scaling)
    return np.where(largest, np.copysign(sys.float_info.max, scaled), scaled)


KINDS = (
    InjectionKind("load", "", _scaled(("p_mw", "q_mvar"))),
    InjectionKind("asymmetric_load", "", _phases(1)),
    InjectionKind("motor", "", _motors),
    InjectionKind("sgen", "sgen", _scaled(("p_mw", "q_mvar"), -1)),
    InjectionKind("asymmetric_sgen", "sgen", _phases(-1)),
    InjectionKind("storage", "storage", _scaled(("p_mw", "q_mvar"))),
    InjectionKind("ward", "ward", _scaled(("ps_mw", "qs_mvar"))),
    InjectionKind("xward", "ward", _scaled(("ps_mw", "qs_mvar"))),
)
"""The tables of elements at one bus, loads first."""
DC_LINE = InjectionKind("dcline", "dcline", _scaled(("p_mw", "p_mw")))
"""Lines of direct current: what they draw at one end and feed in at the other."""
PUBLIC_KINDS = ("sgen", "storage", "ward", "dcline")
"""What an owner may declare public."""


def _dc_lines(net: Any, place: Topology) -> Iterator[tuple[InjectionKind, SourceLoad]]:
    """Yield both ends of each DC line: the sender draws, the receiver feeds in less the losses."""
    for index, line in net.dcline.iterrows():
        sent = abs(float(line.p_mw))
        received = sent * (1 - line.loss_percent / 100) - line.loss_mw
        forward = line.p_mw > 0
        drawn = {"from": sent if forward else -received, "to": -received if forward else sent}
        for end, p in drawn.items():
            key = f"dcline {index} {end}"
            yield DC_LINE, _source_load(place, key, line[f"{end}_bus"], p, 0.0, line)


def _refuse_voltage_dependent(net: Any) -> None:
    columns = [name for name in net.load.columns if name.startswith(_VOLTAGE_DEPENDENT)]
    parts = net.load[columns].fillna(0.0).to_numpy(dtype=float) if columns else np.zeros((0, 1))
    dependent = net.load.index[(parts != 0).any(axis=1)] if columns else []
    if len(dependent):
        raise GridveilError(
            f"load {dependent[0]} depends on the voltage (its const_z or const_i columns), and so "
            f"do {len(dependent)} loads in all; set these columns to 0, or make the part of "
            "constant impedance a shunt in net.shunt"
        )
