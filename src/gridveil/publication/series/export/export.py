"""Writes a released series in the files of another tool."""

from collections.abc import Callable
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.files import write_atomically
from gridveil.network.series.writing import long_table, table_bytes
from gridveil.publication.folder import refuse_existing, write_folder
from gridveil.publication.series.export.formats import SeriesFormat
from gridveil.publication.series.export.gridfm import gridfm_files
from gridveil.publication.series.export.pandapower import pandapower_files
from gridveil.publication.series.export.pypsa import pypsa_files
from gridveil.publication.series.export.released import (
    LOADS_TABLE,
    ReleasedSeries,
    is_series_folder,
    read_released_series,
)

Writer = Callable[[ReleasedSeries], tuple[dict[str, bytes], list[str]]]
_FOLDERS: dict[SeriesFormat, Writer] = {
    SeriesFormat.PANDAPOWER: pandapower_files,
    SeriesFormat.PYPSA: pypsa_files,
    SeriesFormat.GRIDFM: gridfm_files,
}


def export_series(folder: Path | str, to: SeriesFormat | str, output: Path | str) -> list[str]:
    """Write the loads of a released series, and its network, in the files of another tool.

    What is written was all released: it needs no protection.

    Args:
        folder: The folder of the release.
        to: "pandapower" (a net with ConstControls in net.json), "pypsa" (CSV files to import),
            "gridfm" (a case and scenarios of gridfm-datakit), or "csv" (the loads alone).
        output: A new folder; for "csv" a new file.

    Returns:
        What the files do not hold, in sentences.

    Raises:
        GridveilError: The folder is no released series, or something is there already.

    Example:
        >>> told = export_series("out", "pypsa", "for-pypsa")  # doctest: +SKIP
    """
    source, target, chosen = Path(folder), Path(output), _format(to)
    refuse_existing(target)
    if not is_series_folder(source):
        raise GridveilError(
            f"{source}: no {LOADS_TABLE}; series alone are exported with --to. A release of single "
            "loads is written into its source, with --into"
        )
    released = read_released_series(source)
    if chosen is SeriesFormat.CSV:
        table = long_table(released.network, released.times, released.p_mw, released.q_mvar)
        write_atomically(target, table_bytes(table, ".csv"))
        return []
    files, told = _FOLDERS[chosen](released)
    write_folder(target, files)
    return told


def _format(name: SeriesFormat | str) -> SeriesFormat:
    try:
        return SeriesFormat(name)
    except ValueError:
        known = ", ".join(SeriesFormat)
        raise GridveilError(f"--to: {name!r} is none of {known}") from None
