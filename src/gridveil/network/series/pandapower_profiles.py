"""Profiles of a pandapower net: what its ConstControls set element by element.

As in pandapower's own time series, what no controller sets stays as its table has it, and what one
sets is times the scaling of the element.
"""

from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.series.forms import Columns, profiles_of_columns, reactive_ratio
from gridveil.network.series.hourly import Profiles
from gridveil.network.series.moments import Clock, moments
from gridveil.network.series.names import LoadNames, listed
from gridveil.network.series.table import table_of_frame

_SIGN = {"load": 1.0, "storage": 1.0, "sgen": -1.0}
"""The elements whose profiles are understood: what they draw by what they are set to."""
_VARIABLES = ("p_mw", "q_mvar")

Settings = dict[tuple[str, str], FloatArray]
"""What is set, by the key of an element and the variable."""


def profiles_of_net(
    net: Any, network: Network, clock: Clock, power_factor: float | None
) -> tuple[Profiles, list[str]]:
    """Return the profiles that a net has for the loads of the network read from it.

    Args:
        net: A pandapowerNet with ConstControls that have data.
        network: The network that was read from it.
        clock: How the index of the data is meant.
        power_factor: For loads whose P is set and Q is not; None leaves Q as it stands.

    Raises:
        GridveilError: There are no such controllers, or their data do not fit.
    """
    names, source = LoadNames(network), "net.controller"
    settings, index, told = _settings(net)
    known = {load.key for load in network.load_identities}
    told += names.unknown(dict.fromkeys(key for key, _ in settings if key not in known))
    frame = table_of_frame(index.to_frame(name="time"), f"the data of {source}")
    seconds = moments(frame.column("time"), clock, frame.place)
    columns, constant, by_factor = Columns({}, {}), [], []
    for i, (key, p0, q0) in enumerate(
        zip(
            [load.key for load in network.load_identities],
            network.loads.p * network.base_mva,
            network.loads.q * network.base_mva,
            strict=True,
        )
    ):
        p, q = (settings.get((key, variable)) for variable in _VARIABLES)
        if p is None or (q is None and power_factor is None):
            constant.append(key)
        elif q is None:
            by_factor.append(key)
            q = reactive_ratio(power_factor, source, [key])[0] * p
        columns.p[i] = np.full(len(seconds), p0) if p is None else p
        columns.q[i] = np.full(len(seconds), q0) if q is None else q
    if by_factor:
        told += reactive_ratio(power_factor, source, by_factor)[1]
    if constant:
        told.append(
            f"{listed(constant)}: P or Q has no controller and is the same in every hour, as in "
            "pandapower's own time series"
        )
    return profiles_of_columns(columns, seconds, len(network.loads)), told


def _settings(net: Any) -> tuple[Settings, Any, list[str]]:
    """Return what the controllers of a net set, at which times, and what is not understood."""
    found: Settings = {}
    index, other = None, []
    for number, controller in zip(net.controller.index, net.controller.object, strict=True):
        frame = getattr(getattr(controller, "data_source", None), "df", None)
        if frame is None or not net.controller.at[number, "in_service"]:
            continue
        element, variable = controller.element, controller.variable
        if element not in _SIGN or variable not in _VARIABLES:
            other.append(f"{element}.{variable}")
            continue
        if index is not None and not frame.index.equals(index):
            raise GridveilError(
                f"controller {number}: its data have other times than those of the controllers "
                "before it; give all one index"
            )
        index = frame.index
        _set(found, net, number, controller)
    if index is None:
        raise GridveilError(
            "the net has no ConstControl in service that sets p_mw or q_mvar of loads, static "
            "generators or storages from a DFData"
        )
    told = [f"controllers of {listed(sorted(set(other)))}: no loads, left out"] if other else []
    return found, index, told


def _set(found: Settings, net: Any, number: Any, controller: Any) -> None:
    """Add what one controller sets."""
    elements = np.atleast_1d(np.asarray(controller.element_index)).tolist()
    profiles = np.atleast_1d(np.asarray(controller.profile_name, dtype=object)).tolist()
    if len(profiles) == 1:
        profiles *= len(elements)
    table = table_of_frame(controller.data_source.df, f"controller {number}")
    for element, profile in zip(elements, profiles, strict=True):
        key = f"{controller.element} {element}"
        if str(profile) not in table.names:
            raise GridveilError(f"controller {number}: its data have no column for {key}")
        if element not in net[controller.element].index:
            raise GridveilError(f"controller {number}: there is no {key} in the net")
        row = net[controller.element].loc[element]
        factor = _SIGN[controller.element] * controller.scale_factor * row.get("scaling", 1.0)
        found[key, controller.variable] = factor * table.numbers(str(profile), key)


def is_net(source: Any) -> bool:
    """Whether something is a pandapower net."""
    return hasattr(source, "controller") and hasattr(source, "load") and hasattr(source, "bus")
