"""A released series as a pandapower net with the profiles of its loads.

The net has a ConstControl for P and one for Q of all loads, with their DFData: time steps are 0, 1,
2, …, and times.csv says when each begins. `pandapower.timeseries.run_timeseries` runs it.
"""

from gridveil.files import csv_bytes
from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.network.formats.pandapower_writer import net_from_network
from gridveil.publication.series.export.released import ReleasedSeries

NET, TIMES = "net.json", "times.csv"
_NOTES = (
    "the outputs of generators in the net are those of its case file in every step; "
    "run_timeseries(net, run=pandapower.runopp) dispatches each",
)


def pandapower_files(released: ReleasedSeries) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a released series for pandapower, and what they do not hold.

    Raises:
        GridveilError: pandapower is not installed, or cannot hold the network.
    """
    pandapower = import_pandapower()
    from pandapower.control import ConstControl  # type: ignore[import-untyped]
    from pandapower.timeseries import DFData  # type: ignore[import-untyped]
    from pandas import DataFrame

    net = net_from_network(released.network)
    net.name = released.network.name
    loads = [int(index) for index in net.load.index]
    for variable, values in (("p_mw", released.p_mw), ("q_mvar", released.q_mvar)):
        data = DFData(DataFrame(values, columns=loads))
        ConstControl(net, "load", variable, loads, profile_name=loads, data_source=data)
    steps = [(step, f"{time}Z") for step, time in enumerate(released.times.astype(str).tolist())]
    files = {
        NET: pandapower.to_json(net).encode(),
        TIMES: csv_bytes(("step", "time"), steps),
    }
    return files, list(_NOTES)
