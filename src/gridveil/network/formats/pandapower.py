"""pandapower's JSON files and Excel workbooks; an extra: pip install 'gridveil[pandapower]'."""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridveil.errors import GridveilError, raised_where
from gridveil.files import read_file, write_atomically
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.network.formats.pandapower_injections import PUBLIC_KINDS
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.network.formats.pandapower_writer import net_from_network, net_with_loads
from gridveil.network.network import Network
from gridveil.network.problems import CaseError

_LOOKED_AT = 4096
"""Bytes of a JSON file in which the class it holds is looked for."""
_EXCEL = ".xlsx"
_WORKBOOK = "xl/workbook.xml"
_SHEETS = (b'name="bus"', b'name="parameters"')
"""Sheets of a workbook that pandapower wrote, as its list of sheets names them."""


class PandapowerFormat(CaseFormat):
    """pandapower's JSON files and its Excel workbooks."""

    name = "pandapower"
    suffixes = (".json", _EXCEL)
    injection_kinds = PUBLIC_KINDS

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins as `pandapower.to_json` writes it, or is a workbook."""
        start = first_bytes(path, _LOOKED_AT)
        archive = start.startswith(b"PK") and (path.suffix.lower() == _EXCEL or _has_sheets(path))
        return archive or b"pandapowerNet" in start

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; the bus of index 0 in the net has the number 1."""
        net = opened_net(path)
        name = str(net.name or path.stem)
        try:
            return network_from_net(net, name, load_buses, self._public)
        except CaseError as error:
            raise CaseError(path, error.problems) from None
        except GridveilError as error:
            raise GridveilError(f"{path}: {error}") from None

    def write(self, network: Network, path: Path) -> None:
        """Write a network; the bus of number 1 has the index 0 in the net."""
        net = net_from_network(network)
        net.name = network.name
        _save(net, path)

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write a copy of a file with this network's loads; see `CaseFormat.write_back`."""
        net, told = net_with_loads(network, opened_net(source))
        _save(net, path)
        return told


def _has_sheets(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            sheets = archive.read(_WORKBOOK)
    except (OSError, KeyError, zipfile.BadZipFile):
        return False
    return all(sheet in sheets for sheet in _SHEETS)


def opened_net(path: Path) -> Any:
    """Return the net of a file.

    Raises:
        GridveilError: It holds no net, or pandapower cannot read it.
    """
    pandapower = import_pandapower()
    failure = ""
    try:
        if path.suffix.lower() == _EXCEL:
            _check_workbook(path)
            return pandapower.from_excel(str(path))
        return pandapower.from_json_string(_checked_json(path), convert=True)
    except GridveilError:
        raise
    except Exception as error:  # many kinds; their texts may show loads
        failure = raised_where(error)
    # Outside of the handler, so that the error has no context.
    raise GridveilError(f"{path}: pandapower cannot read this file: {failure}")


def _check_workbook(path: Path) -> None:
    try:
        import openpyxl  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise GridveilError(
            f"{path}: Excel files need openpyxl; pip install 'gridveil[pandapower]'"
        ) from None
    if not zipfile.is_zipfile(path):
        raise GridveilError(f"{path}: this is not an Excel workbook (.xlsx), or it is cut off")
    if not _has_sheets(path):
        raise GridveilError(
            f"{path}: this workbook has no sheets 'bus' and 'parameters', as pandapower.to_excel "
            "writes them"
        )


def _checked_json(path: Path) -> str:
    """Return the text of a JSON file whose outer layer and tables can be parsed."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GridveilError(f"{path}: byte {error.start} is not UTF-8") from None
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}: column {error.colno}"
        raise GridveilError(
            f"{place}: this is not JSON ({error.msg}); is the file cut off?"
        ) from None
    except RecursionError:
        raise GridveilError(f"{path}: this JSON is nested too deeply") from None
    if not isinstance(found, dict) or found.get("_class") != "pandapowerNet":
        raise GridveilError(f"{path}: this is not a network saved by pandapower.to_json")
    tables = found.get("_object")
    if not isinstance(tables, dict):
        raise GridveilError(f"{path}: the network has no tables ('_object')")
    for name, table in tables.items():
        if isinstance(table, dict) and table.get("_class") == "DataFrame":
            _check_table(path, name, table.get("_object"))
    return text


def _check_table(path: Path, name: str, text: object) -> None:
    """Refuse a table that is not the JSON of columns, index and rows."""
    where = f"{path}: table {name!r}"
    try:
        table = json.loads(text) if isinstance(text, str) else text
    except json.JSONDecodeError as error:
        raise GridveilError(f"{where}: not JSON from character {error.pos} on") from None
    parts = table if isinstance(table, dict) else {}
    columns, index, rows = (parts.get(part) for part in ("columns", "index", "data"))
    if not (isinstance(columns, list) and isinstance(index, list) and isinstance(rows, list)):
        raise GridveilError(f"{where}: columns, index and data expected")
    if len(index) != len(rows):
        raise GridveilError(f"{where}: {len(index)} indices for {len(rows)} rows")
    for key, row in zip(index, rows, strict=True):
        if not isinstance(row, list) or len(row) != len(columns):
            raise GridveilError(f"{where}, index {key}: {len(columns)} values expected")


def _save(net: Any, path: Path) -> None:
    """Write a net, whole or not at all."""
    pandapower = import_pandapower()
    if path.suffix.lower() != _EXCEL:
        write_atomically(path, pandapower.to_json(net).encode())
        return
    try:
        import xlsxwriter  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise GridveilError(
            f"{path}: writing Excel files needs xlsxwriter; pip install 'gridveil[pandapower]'"
        ) from None
    workbook = io.BytesIO()
    pandapower.to_excel(net, workbook)
    write_atomically(path, workbook.getvalue())
