"""What a released series can be written for."""

from enum import StrEnum


class SeriesFormat(StrEnum):
    """What a released series can be written for."""

    PANDAPOWER = "pandapower"
    PYPSA = "pypsa"
    GRIDFM = "gridfm"
    CSV = "csv"
