"""The files of a released series: the folder, digests, tables, and the page made again."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from gridveil.arrays import FloatArray, IntArray
from gridveil.claims import Claim, claim, unchecked
from gridveil.errors import GridveilError
from gridveil.network.conversion import build_network, in_service
from gridveil.network.network import Network
from gridveil.network.series.load_series import hour_text, hour_times
from gridveil.network.source_loads import loads_at_buses
from gridveil.publication.certificate import StatedSeries
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.folder import (
    NETWORK,
    POSITIONS,
    REPORT,
)
from gridveil.publication.report.series_redraw import redrawn_series_page
from gridveil.publication.series.tables import (
    DISPATCH,
    HOURS,
    LOADS,
    LOADS_CSV,
    RAMPS,
    SCHEMAS,
    VOLTAGES,
    SeriesTables,
    read_table,
)
from gridveil.publication.verification.certified_files import (
    CertifiedFiles,
    listing_claim,
    named_version,
    page_claim,
)
from gridveil.publication.verification.folder_reader import (
    LARGEST_TABLE,
)
from gridveil.publication.verification.model_file import is_model
from gridveil.publication.verification.page_files import positions_claim

LIMITS = {LOADS_CSV: LARGEST_TABLE}
"""Files that may be larger than those of the same name in a release of single loads."""
_LEFT_OUT = "left out"


@dataclass(frozen=True)
class SeriesFiles(CertifiedFiles):
    """The certified files of a released series."""

    @property
    def series(self) -> StatedSeries:
        """What it says of the series."""
        found = self.certificate.series
        assert found is not None
        return found

    @cached_property
    def load_rows(self) -> IntArray:
        """The row of each load in the bus table."""
        rows = in_service(self.case).rows_of(np.array(self.certificate.load_buses, dtype=float))
        if not len(rows) or (rows < 0).any() or (np.diff(rows) < 0).any():
            raise GridveilError("the loads of the certificate are not those of the network")
        return rows

    @cached_property
    def first_hour(self) -> int:
        """Hours since 1970-01-01 00:00 UTC."""
        hour = int(self.certificate.protection.parameters["first_hour"])
        if hour_text(hour) != self.series.first_hour:
            raise GridveilError("the first hour is stated in two ways")
        return hour

    @cached_property
    def tables(self) -> SeriesTables:
        """The tables, if they fit together and to the network."""
        read = {name: read_table(name, self.contents[name]) for name in SCHEMAS}
        hours, parts = self.series.hours, in_service(self.case)
        times = hour_times(self.first_hour, hours).astype("datetime64[ms]")
        endings = read[HOURS]["ending"]
        if not np.array_equal(read[HOURS]["time"], times):
            raise GridveilError(f"{HOURS}: has other hours than the certificate")
        released = np.flatnonzero([ending != _LEFT_OUT for ending in endings])
        gens = np.flatnonzero(parts.generator) + 1
        buses = self.case.tables["bus"].column("bus_i")[parts.bus].astype(np.int64)
        load_buses = np.array(self.certificate.load_buses, dtype=np.int64)
        shape = {LOADS: len(load_buses), DISPATCH: len(gens), VOLTAGES: len(buses)}
        values = {
            name: _values(name, read[name], times[released], count) for name, count in shape.items()
        }
        figures = np.stack([read[HOURS][name] for name in SCHEMAS[HOURS].names[2:]], axis=1)
        made = SeriesTables(
            self.first_hour,
            hours,
            released,
            load_buses,
            values[LOADS],
            gens,
            values[DISPATCH],
            buses,
            values[VOLTAGES],
            tuple(map(str, endings)),
            figures.astype(float),
        )
        for name in SCHEMAS:
            _same_keys(name, read[name], made)
        return made

    @cached_property
    def network(self) -> Network:
        """The network, with the loads of the hour that stands in its file."""
        at = self.network_row
        p, q = self.tables.loads[at].T.tolist()
        loads = loads_at_buses(self.certificate.load_buses, p, q, in_service=len(p))
        assert len(self.load_rows)
        return build_network(replace(self.case, loads=loads))

    @cached_property
    def network_row(self) -> int:
        """Which of the released hours stands in the case file."""
        texts = [hour_text(self.first_hour + int(hour)) for hour in self.tables.released]
        if self.series.network_hour not in texts:
            raise GridveilError("the hour of the case file is not in the tables")
        return texts.index(self.series.network_hour)


def _values(name: str, columns: Mapping[str, Any], times: Any, count: int) -> FloatArray:
    """Return the numbers of a table by hour, if it has a row for each."""
    numbers = [columns[n] for n in SCHEMAS[name].names if SCHEMAS[name].field(n).type == "double"]
    if len(numbers[0]) != len(times) * count:
        raise GridveilError(f"{name}: has another number of rows than its hours need")
    if not np.array_equal(columns["time"], np.repeat(times, count)):
        raise GridveilError(f"{name}: its hours are not those that were released, in their order")
    return np.stack(numbers, axis=1).reshape(len(times), count, len(numbers))


def _same_keys(name: str, columns: Mapping[str, Any], tables: SeriesTables) -> None:
    """Refuse a table whose rows are about other loads, generators or buses."""
    for key, values in tables.keys(name).items():
        if not np.array_equal(columns[key], np.tile(values, len(tables.released))):
            raise GridveilError(f"{name}: {key} is not as the network has it")


def series_folder_claim(folder: Path, read: ReadCertificate) -> Claim:
    """Check that the folder holds what the certificate lists, and nothing else."""
    series = read.certificate.series
    assert series is not None
    wanted = {NETWORK, REPORT, POSITIONS, *SCHEMAS} | ({RAMPS} if series.has_ramps else set())
    return listing_claim(folder, read, wanted, {LOADS_CSV})


def series_file_claims(files: SeriesFiles) -> Iterator[Claim]:
    """Check the files against each other."""
    name, claimed = NETWORK, "the model and nothing else"
    ok = is_model(files.case, files.case.text, ())
    yield claim(name, claimed, claimed if ok else "something else stands in it", ok)
    yield from _spelling(files)
    yield positions_claim(files.contents[POSITIONS], files.network, files.certificate.software)
    yield _page(files)


def _spelling(files: SeriesFiles) -> Iterator[Claim]:
    """Check that each table has the bytes that its numbers give, and the CSV those of the loads."""
    again = files.tables.files(with_csv=LOADS_CSV in files.contents)
    writer = files.certificate.software.get("pyarrow", "")
    for name, data in again.items():
        claimed = "its numbers and nothing else"
        if data == files.contents[name]:
            yield claim(name, claimed, "the same, byte by byte", ok=True)
        elif name == LOADS_CSV or writer == version("pyarrow"):
            yield claim(name, claimed, "in another spelling", ok=False)
        else:
            shown = named_version(files.certificate, "pyarrow")
            why = f"written with pyarrow {shown}; verify with that version"
            yield unchecked(name, claimed, why)
        if name != LOADS_CSV:
            yield _metadata(name, files.contents[name])


def _metadata(name: str, data: bytes) -> Claim:
    """Check that a table carries no notes beside its numbers."""
    notes = pq.ParquetFile(io.BytesIO(data)).metadata.metadata
    return claim(f"notes in {name}", "none", "none" if not notes else "some", not notes)


def _page(files: SeriesFiles) -> Claim:
    def drawn() -> bytes:
        return redrawn_series_page(
            files.certificate, files.network.case, files.tables, files.contents[POSITIONS]
        )

    return page_claim(files, "what the certificate and the tables give", [drawn])
