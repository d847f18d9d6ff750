"""Reads files with pypowsybl; nothing that it says while it sees loads is passed on.

pypowsybl is an extra: pip install 'gridveil[formats]'.
"""

import codecs
import io
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridveil.errors import GridveilError, raised_where
from gridveil.files import read_file
from gridveil.network.formats.case_rows import network_of_rows
from gridveil.network.formats.powsybl.conversion import converted
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind
from gridveil.printable import excerpt

EXTRA = "pypowsybl is not installed; pip install 'gridveil[formats]'"
_OPTIONS = {"iidm.import.cgmes.convert-sv-injections": "false"}
"""Mismatches of an earlier power flow are no loads."""
_LONGEST = 200
_SILENT = logging.CRITICAL + 1


def import_pypowsybl() -> Any:
    """Return the module pypowsybl.

    Raises:
        GridveilError: It is not installed.
    """
    try:
        with _silent():
            import pypowsybl
            import pypowsybl.network
    except ImportError:
        raise GridveilError(EXTRA) from None
    return pypowsybl


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        CaseError: It is empty or binary.
    """
    data = read_file(path)
    if not data.strip() or b"\0" in data[:4096]:
        what = "this is binary data, not a text file" if data.strip() else "the file is empty"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, what)])
    return data.decode(encoding_of(data))


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text: UTF-8, or else Latin-1, as old tools write."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"


def load_text(path: Path, kind: str, text: str, without_loads: str) -> Any:
    """Return the pypowsybl network of a text.

    Args:
        path: Where it comes from, for messages.
        kind: The suffix by which PowSyBl knows the format.
        text: The text.
        without_loads: The same without loads; if PowSyBl cannot read it either, its message shows
            no load.
    """
    network = import_pypowsybl().network
    return _load(
        path,
        lambda: network.load_from_string(f"case.{kind}", text),
        lambda: network.load_from_string(f"case.{kind}", without_loads),
    )


def load_archive(path: Path, data: bytes, without_loads: bytes) -> Any:
    """Return the pypowsybl network of a zip archive; arguments as for `load_text`."""
    network = import_pypowsybl().network
    return _load(
        path,
        lambda: network.load_from_binary_buffer(io.BytesIO(data), _OPTIONS),
        lambda: network.load_from_binary_buffer(io.BytesIO(without_loads), _OPTIONS),
    )


def network_of(
    source: Any,
    path: Path,
    load_buses: Sequence[int] | None,
    base_mva: float = 100.0,
    keys: Mapping[str, str] | None = None,
    public_injections: Collection[str] = (),
    notes: Sequence[str] = (),
    voltage_limits: Mapping[int, tuple[float, float]] | None = None,
) -> Network:
    """Return the network that pypowsybl read from a file."""
    failure, found = "", None
    try:
        with _silent():
            found = converted(source, base_mva, keys, public_injections, voltage_limits)
    except GridveilError as error:
        raise GridveilError(f"{path}: {error}") from None
    except Exception as error:
        failure = raised_where(error)
    if found is None:  # outside of the handler, so that the error has no context
        raise GridveilError(f"{path}: cannot be converted: {failure}")
    rows = found.rows
    if not rows.generators:
        raise CaseError(path, [Problem(ProblemKind.MISSING, "it has no generator in service")])
    network = network_of_rows(rows, path, load_buses)
    return replace(network, conversion_notes=(*notes, *network.conversion_notes))


def _load(path: Path, whole: Callable[[], Any], without_loads: Callable[[], Any]) -> Any:
    found, _ = _attempt(whole)
    if found is not None:
        return found
    _, message = _attempt(without_loads)
    reason = (
        f"PowSyBl cannot read it: {excerpt(message, _LONGEST)}"
        if message
        else "PowSyBl cannot read it with its loads: one of them is not as the format has it"
    )
    raise CaseError(path, [Problem(ProblemKind.SYNTAX, reason)])


def _attempt(read: Callable[[], Any]) -> tuple[Any, str]:
    """Return what was read, or what was raised; nothing of the error is kept but its text."""
    try:
        with _silent():
            return read(), ""
    except Exception as error:  # pypowsybl raises many kinds
        return None, re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__


@contextmanager
def _silent() -> Iterator[None]:
    """Keep pypowsybl's log, which may show loads, from every handler."""
    logger = logging.getLogger("powsybl")
    level = logger.level
    logger.setLevel(_SILENT)
    try:
        yield
    finally:
        logger.setLevel(level)
