"""The files of a released series: the folder, digests, tables, and the page made again."""

import hashlib
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
from gridveil.network.case_file import CaseFile
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, in_service
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.network.series.load_series import hour_text, hour_times
from gridveil.network.source_loads import loads_at_buses
from gridveil.printable import excerpt
from gridveil.publication.certificate import Certificate, StatedSeries
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.folder import (
    CERTIFICATE,
    NETWORK,
    POSITIONS,
    REPORT,
    SIGNATURE,
)
from gridveil.publication.report.passive import is_passive
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
from gridveil.publication.verification.folder_reader import (
    LARGEST_TABLE,
    list_release_folder,
    read_release_file,
)
from gridveil.publication.verification.model_file import is_model
from gridveil.publication.verification.page_files import positions_claim

_SHOWN = 200
_LONGEST_VERSION = 20
_LEFT_OUT = "left out"


@dataclass(frozen=True)
class SeriesFiles:
    """The certified files of a released series, whose digests are those of its certificate."""

    read: ReadCertificate
    contents: Mapping[str, bytes]

    @property
    def certificate(self) -> Certificate:
        """The certificate."""
        return self.read.certificate

    @property
    def series(self) -> StatedSeries:
        """What it says of the series."""
        found = self.certificate.series
        assert found is not None
        return found

    @cached_property
    def case(self) -> CaseFile:
        """The network as its file has it, at the hour of the largest load."""
        text = self.contents[NETWORK].decode("utf-8", "surrogateescape")
        case = parse_matpower(text, NETWORK, self.certificate.network)
        problems = check_case(case)
        if problems:
            raise CaseError(case.source, problems)
        return case

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
    shown = ", ".join(sorted(wanted))
    try:
        there = set(list_release_folder(folder)) - {CERTIFICATE, SIGNATURE}
    except GridveilError as error:
        return claim("files", shown, str(error), ok=False)
    ok = set(read.certificate.files) == there and wanted <= there <= wanted | {LOADS_CSV}
    return claim("files", shown, ", ".join(sorted(there))[:_SHOWN], ok)


def read_series_files(folder: Path, read: ReadCertificate) -> tuple[dict[str, bytes], list[Claim]]:
    """Return the files that the certificate lists, and a claim on the digest of each."""
    contents: dict[str, bytes] = {}
    claims = []
    for name, claimed in sorted(read.certificate.files.items()):
        limit = LARGEST_TABLE if name == LOADS_CSV else None
        try:
            contents[name] = read_release_file(folder, name, limit)
            found = hashlib.sha256(contents[name]).hexdigest()
        except GridveilError as error:
            found = f"not readable: {error}"
        claims.append(claim(f"digest of {name}", claimed, found, claimed == found))
    return contents, claims


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
            shown = excerpt(writer, _LONGEST_VERSION)
            why = f"written with pyarrow {shown}; verify with that version"
            yield unchecked(name, claimed, why)
        if name != LOADS_CSV:
            yield _metadata(name, files.contents[name])


def _metadata(name: str, data: bytes) -> Claim:
    """Check that a table carries no notes beside its numbers."""
    notes = pq.ParquetFile(io.BytesIO(data)).metadata.metadata
    return claim(f"notes in {name}", "none", "none" if not notes else "some", not notes)


def _page(files: SeriesFiles) -> Claim:
    """Make the page again and compare; one of another version can only be searched for harm."""
    page, claimed = files.contents[REPORT], "what the certificate and the tables give"
    try:
        again = redrawn_series_page(
            files.certificate, files.network.case, files.tables, files.contents[POSITIONS]
        )
    except Exception as error:  # whatever hostile numbers do to a drawing
        return claim(REPORT, claimed, f"cannot be made again: {type(error).__name__}", ok=False)
    if again == page:
        return claim(REPORT, claimed, "the same, byte by byte", ok=True)
    by = excerpt(files.certificate.software.get("gridveil", ""), _LONGEST_VERSION) or "unknown"
    if by == version("gridveil"):
        return claim(REPORT, claimed, "another page", ok=False)
    if not is_passive(page, needs_policy=True):
        return claim(REPORT, claimed, "may run a script or load something: do not open it", False)
    why = f"verify with Gridveil {by}, which it names: this version draws another page"
    return unchecked(REPORT, claimed, why)
