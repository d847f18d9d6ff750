"""Load series from whatever has them: files, data frames, pandapower, PyPSA."""

from pathlib import Path
from typing import Any

from gridveil.errors import GridveilError, raised_where
from gridveil.network.formats.pandapower import opened_net
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.network.series.forms import profiles_of_table
from gridveil.network.series.hourly import Profiles, hourly
from gridveil.network.series.load_series import LoadSeries, load_keys
from gridveil.network.series.moments import Clock
from gridveil.network.series.names import LoadNames
from gridveil.network.series.pandapower_profiles import is_net, profiles_of_net
from gridveil.network.series.pypsa_profiles import is_pypsa, pypsa_profiles
from gridveil.network.series.table import read_table, table_of_frame
from gridveil.network.units import LOAD


def load_series(
    source: Any,
    network: Network | str | Path,
    *,
    time_zone: str | None = None,
    power_factor: float | None = None,
    average: bool = False,
    start: str | None = None,
    step_minutes: int = 60,
) -> LoadSeries:
    r"""Read the loads of a network hour by hour.

    Args:
        source: A CSV or Parquet file, long (time, load or bus and number, p_mw, q_mvar) or wide
            (time, "bus 5:p_mw", "bus 5:q_mvar", …); a pandas data frame of either form; a
            pandapower net with ConstControls, or its file; a pandapower DFData; a
            `pypsa.Network`, or its folder of CSV files. Times say when an hour begins.
        network: The network, each of whose loads in service needs a profile.
        time_zone: Where the clock stood that times without an offset from UTC were read off, as
            "Europe/Berlin" or "UTC". An hour that it showed twice needs two rows, the earlier
            first.
        power_factor: A public power factor for loads without reactive power, which is then
            inductive.
        average: Whether steps shorter than an hour are averaged.
        start: When step 0 begins, where times are numbers of steps.
        step_minutes: How long such a step is.

    Returns:
        The series in p.u.; its notes say what was left out or made up.

    Raises:
        GridveilError: Something is missing, doubled or unknown, with its place. No message has a
            value of a load.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "loads.csv"
        >>> _ = path.write_text(
        ...     "time,bus 2:p_mw,bus 3:p_mw,bus 4:p_mw\n"
        ...     "2025-01-06 00:00,210,190,280\n"
        ...     "2025-01-06 01:00,200,180,270\n"
        ... )
        >>> series = load_series(
        ...     path, "case5_pjm", time_zone="Europe/Berlin", power_factor=0.95
        ... )
        >>> series
        LoadSeries(3 loads, 2 hours from 2025-01-05T23:00Z)
    """
    chosen = as_network(network)
    if not len(chosen.loads):
        raise GridveilError(f"{chosen.name} has no load in service")
    clock = Clock(time_zone, start, step_minutes)
    called, failure = _called(source), ""
    try:
        profiles, told = _profiles(source, called, chosen, clock, power_factor)
    except GridveilError:
        raise
    except Exception as error:  # of pandas or pyarrow; their texts may show loads
        failure = raised_where(error)
    if failure:  # outside of the handler, so that the error has no context
        raise GridveilError(f"{called}: cannot be read: {failure}")
    found = hourly(profiles, called, LoadNames(chosen).call, average)
    p, q = (LOAD.decode(values, chosen.base_mva) for values in (found.p, found.q))
    return LoadSeries(found.first_hour, p, q, load_keys(chosen), tuple(told))


def _profiles(
    source: Any, called: str, network: Network, clock: Clock, power_factor: float | None
) -> tuple[Profiles, list[str]]:
    """Return the profiles of a source, and what is to be said."""
    if isinstance(source, str | Path):
        source = Path(source)
        if source.suffix.lower() in (".json", ".xlsx"):
            source = opened_net(source)
    if is_pypsa(source):
        return pypsa_profiles(source, network, clock, power_factor)
    if is_net(source):
        return profiles_of_net(source, network, clock, power_factor)
    if isinstance(source, Path):
        if source.is_dir():
            raise GridveilError(f"{source}: a folder without loads-p_set.csv of PyPSA")
        table = read_table(source)
    else:
        frame = getattr(source, "df", source)
        if not hasattr(frame, "columns") or not hasattr(frame, "index"):
            raise GridveilError(
                f"series: a file, a data frame, or a source of pandapower or PyPSA expected, not "
                f"{type(source).__name__}"
            )
        table = table_of_frame(frame, called)
    return profiles_of_table(table, LoadNames(network), clock, power_factor)


def _called(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"
