"""A released series as a pandapower net with profiles: loads, outputs and voltages hour by hour.

The net has ConstControls with their DFData: time steps are 0, 1, 2, …, and times.csv says when each
begins. `pandapower.timeseries.run_timeseries` solves the power flow of every hour, which has the
voltages that were released.
"""

from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.files import csv_bytes
from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.network.formats.pandapower_writer import net_from_network
from gridveil.publication.series.export.released import ReleasedSeries

NET, TIMES = "net.json", "times.csv"
_NOTES = ("limits of lines are limits of their currents in pandapower, at the highest voltage",)


def pandapower_files(released: ReleasedSeries) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a released series for pandapower, and what they do not hold.

    Raises:
        GridveilError: pandapower is not installed, or cannot hold the network.
    """
    pandapower = import_pandapower()
    net = net_from_network(released.network)
    net.name = released.network.name
    loads = [int(index) for index in net.load.index]
    _control(net, "load", "p_mw", loads, released.p_mw)
    _control(net, "load", "q_mvar", loads, released.q_mvar)
    for element, at in _elements(net, released).items():
        rows = [row for row, _ in at]
        indices = [index for _, index in at]
        if element != "ext_grid":
            _control(net, element, "p_mw", indices, released.output_mw[:, rows])
        if element == "sgen":
            _control(net, element, "q_mvar", indices, released.output_mvar[:, rows])
        else:
            v = released.v[:, released.network.generators.bus[rows]]
            _control(net, element, "vm_pu", indices, v)
    steps = [(step, f"{time}Z") for step, time in enumerate(released.times.astype(str).tolist())]
    files = {
        NET: pandapower.to_json(net).encode(),
        TIMES: csv_bytes(("step", "time"), steps),
    }
    return files, list(_NOTES)


def _control(net: Any, element: str, variable: str, indices: list[int], values: FloatArray) -> None:
    """Add a controller that sets a variable of elements in every time step."""
    from pandapower.control import ConstControl  # type: ignore[import-untyped]
    from pandapower.timeseries import DFData  # type: ignore[import-untyped]
    from pandas import DataFrame

    data = DFData(DataFrame(np.asarray(values), columns=indices))
    ConstControl(net, element, variable, indices, profile_name=indices, data_source=data)


def _elements(net: Any, released: ReleasedSeries) -> dict[str, list[tuple[int, int]]]:
    """Return what generators became in the net: the place of each, and its index there."""
    known = net._from_ppc_lookups["gen"]
    found: dict[str, list[tuple[int, int]]] = {}
    for place, row in enumerate(released.network.generators.row.tolist()):
        kind, index = known.element_type.iloc[row], int(known.element.iloc[row])
        found.setdefault(str(kind), []).append((place, index))
    return found
