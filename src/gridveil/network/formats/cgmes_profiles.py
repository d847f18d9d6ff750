"""CGMES profiles: a folder, a zip archive, or archives in an archive, as XML texts by name."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from gridveil.files import read_file
from gridveil.network.formats.text_cells import Cell
from gridveil.network.problems import CaseError, Problem, ProblemKind

REQUIRED = {"EQ": "EquipmentCore|CoreEquipment", "SSH": "SteadyStateHypothesis"}
"""The profiles without which there is no load, by a part of their identifiers."""
STATE = "StateVariables"
_PROFILE = re.compile(r"Model\.profile>\s*([^<\s]+)")
INJECTION = "EquivalentInjection"
"""The class of what flows in at boundaries; elsewhere PowSyBl takes it as a generator."""
_LOAD_CLASSES = (
    "EnergyConsumer", "ConformLoad", "NonConformLoad", "StationSupply", "AsynchronousMachine",
    "EnergySource", INJECTION,
)  # fmt: skip
"""Classes of what PowSyBl takes as loads and boundary injections."""
_OBJECT = re.compile(
    rf"<(?:[\w.-]+:)?(?P<class>{'|'.join(_LOAD_CLASSES)})\s[^>]*?"
    r"(?:about|ID)\s*=\s*[\"']#?_?(?P<id>[^\"']+)[\"'][^>]*>"
    r"(?P<body>.*?)</(?:[\w.-]+:)?(?P=class)\s*>",
    re.DOTALL,
)
_VALUE = re.compile(
    r"<(?:[\w.-]+:)?\w+\.(?P<name>p|q|activePower|reactivePower|pfixed|qfixed)(?:\s[^>]*)?>"
    r"(?P<value>[^<]*)</"
)
_LARGEST = 4 << 30
"""Bytes of unpacked XML at most."""


def read_profiles(path: Path) -> dict[str, str]:
    """Return the XML files of a model by name.

    Raises:
        CaseError: It is no archive, or lacks a profile without which it has no loads.
    """
    if path.is_dir():
        files = {p.name: read_file(p) for p in sorted(path.iterdir()) if _is_part(p.name)}
        texts = dict(_texts(path, files))
    elif path.suffix.lower() == ".xml":
        texts = dict(_texts(path, {path.name: read_file(path)}))
    else:
        texts = dict(_texts(path, {path.name: read_file(path)}, archive=True))
    found = " ".join(profile for text in texts.values() for profile in profiles_of(text))
    for name, pattern in REQUIRED.items():
        if not re.search(pattern, found):
            there = f" among its {len(texts)} XML files" if texts else ": it holds no XML file"
            reason = (
                f"no {name} profile{there}; CGMES is read from a folder or a zip with at least the "
                "profiles EQ and SSH, and with TP or EQ's operation part"
            )
            raise CaseError(path, [Problem(ProblemKind.MISSING, reason)])
    return texts


def profiles_of(text: str) -> list[str]:
    """Return the identifiers of the profiles of an XML file."""
    return _PROFILE.findall(text[: 1 << 16])


def load_cells(texts: Mapping[str, str]) -> Iterator[tuple[str, str, Cell]]:
    """Yield the places of the powers of loads, each with the names of its file and its class."""
    for name, text in texts.items():
        for match in _OBJECT.finditer(text):
            for value in _VALUE.finditer(match["body"]):
                at = match.start("body")
                column = "q" if value["name"].startswith(("q", "reactive")) else "p"
                start, end = (at + offset for offset in value.span("value"))
                yield name, match["class"], Cell(start, end, match["id"], column, value["value"])


def archive_of(texts: Mapping[str, str]) -> bytes:
    """Return XML texts as a zip archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode("utf-8", "surrogateescape"))
    return data.getvalue()


def check_well_formed(path: Path, texts: Mapping[str, str]) -> None:
    """Refuse XML that is cut off or broken, with file and line."""
    for name, text in texts.items():
        try:
            ElementTree.fromstring(text.encode("utf-8", "surrogateescape"))
        except ElementTree.ParseError as error:
            line = error.position[0]
            reason = f"{name}: this is not complete XML"
            raise CaseError(path, [Problem(ProblemKind.SYNTAX, reason, line=line)]) from None


def _texts(
    path: Path, files: Mapping[str, bytes], archive: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the XML texts among files; archives among them are unpacked."""
    for name, data in files.items():
        if archive or name.lower().endswith(".zip"):
            yield from _texts(path, _unpacked(path, name, data))
        else:
            yield Path(name).name, data.decode("utf-8", "surrogateescape")


def _unpacked(path: Path, name: str, data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [entry for entry in archive.infolist() if _is_part(entry.filename)]
            if sum(entry.file_size for entry in members) > _LARGEST:
                reason = f"{name}: unpacks to more than 4 GiB"
                raise CaseError(path, [Problem(ProblemKind.OUT_OF_RANGE, reason)])
            return {entry.filename: archive.read(entry) for entry in members}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, RuntimeError, OSError, EOFError):
        reason = f"{name}: this is not a zip archive that can be unpacked"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)]) from None


def _is_part(name: str) -> bool:
    return name.lower().endswith((".xml", ".zip")) and not Path(name).name.startswith(".")
