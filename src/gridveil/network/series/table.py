"""Tables of time series: columns of CSV and Parquet files and of data frames, with places.

What pyarrow says of a file is not passed on: it quotes cells, which may be loads.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.printable import excerpt

CSV, PARQUET = (".csv", ".csv.gz"), (".parquet", ".pq")
_MISSING = ["", "nan", "na", "n/a", "null", "none", "-"]
_LONGEST_NAME = 60
_DECIMAL = re.compile(
    r"(?<![^\s,;])[-+]?(\d+\.\d*|\.\d+|\d+(?=e))(e[-+]?\d+)?(?![^\s,;])", re.IGNORECASE
)
"""A word that is a number, and no whole one."""


Called = str | Callable[[int], str] | None
"""What the rows of a column are about, all or each, for messages."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and how to call a row of them."""

    source: str
    columns: pa.Table = field(repr=False)
    first: int
    """The number of the first row, in a CSV file that of its line."""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self.columns.column_names)

    def place(self, row: int) -> str:
        """Return where a row stands, for messages."""
        number = self.first + row
        is_csv = self.first > 1
        return f"{self.source}:{number}" if is_csv else f"{self.source}, row {number}"

    def column(self, name: str) -> pa.Array:
        """Return a column as one array."""
        found = self.columns.column(name).combine_chunks()
        # An empty or a chunked column comes back as it was.
        return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)

    def numbers(self, name: str, called: Called = None) -> FloatArray:
        """Return a column of finite numbers.

        Args:
            name: Its name.
            called: What its rows are about.

        Raises:
            GridveilError: A cell is empty or no finite number.
        """
        cells = self.column(name)
        if _is_text(cells.type):
            cells = pc.utf8_trim_whitespace(_plain_text(cells))
            cells = pc.if_else(pc.is_in(pc.utf8_lower(cells), pa.array(_MISSING)), None, cells)
        found = _as_floats(cells)
        if found is None:
            what = "is not a number; a decimal point is needed, and no separator of thousands"
            raise self._wrong(_first_no_number(cells), name, called, what)
        if not np.isfinite(found).all():
            what = (
                "is missing or not finite; every load needs a number in every hour: fill it where "
                "the data come from"
            )
            raise self._wrong(int(np.flatnonzero(~np.isfinite(found))[0]), name, called, what)
        return found

    def labels(self, name: str) -> tuple[list[str], Any]:
        """Return the different texts of a column, and for each row which it has.

        Raises:
            GridveilError: A cell is empty.
        """
        cells = self.column(name)
        if pa.types.is_floating(cells.type):  # whole numbers with a gap somewhere, as pandas has it
            whole = _quietly(lambda: pc.cast(cells, pa.int64()))
            if whole is None:
                raise GridveilError(f"{self.source}: column {name} needs whole numbers or names")
            cells = whole
        if cells.null_count:
            row = int(np.flatnonzero(cells.is_null().to_numpy(zero_copy_only=False))[0])
            raise GridveilError(f"{self.place(row)}: column {name} is empty")
        text = pc.utf8_trim_whitespace(pc.cast(_plain_text(cells), pa.string()))
        coded = text.dictionary_encode()
        return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)

    def _wrong(self, row: int, name: str, called: Called, what: str) -> GridveilError:
        about = called(row) if callable(called) else called
        of = f" ({about})" if about else ""
        return GridveilError(f"{self.place(row)}: {shown(name)}{of} {what}")


def read_table(path: Path) -> Table:
    """Return the table of a CSV or Parquet file.

    Raises:
        GridveilError: It cannot be read.
    """
    if not path.is_file():
        raise GridveilError(f"{path}: there is no such file")
    if path.name.lower().endswith(PARQUET):
        return _read_parquet(path)
    return _read_csv(path)


def table_of_frame(frame: Any, source: str) -> Table:
    """Return the table of a pandas data frame; an index of times is its column "time".

    Raises:
        GridveilError: A column holds what no table has.
    """
    columns: dict[str, Any] = {}
    if "time" not in map(str, frame.columns):
        columns["time"] = frame.index
    columns |= {str(name): frame[name] for name in frame.columns}
    if len(columns) < len(frame.columns):
        raise GridveilError(f"{source}: two of its columns have the same name")
    arrays = {}
    for name, values in columns.items():
        array = _quietly(partial(pa.array, values, from_pandas=True))
        if array is None:
            raise GridveilError(
                f"{source}: column {shown(name)} holds values of several kinds; make them numbers"
            )
        arrays[name] = array
    return Table(source, pa.table(arrays), first=1)


def shown(name: str) -> str:
    """Return the name of a column as messages have it."""
    return f"column {excerpt(without_decimals(name), _LONGEST_NAME)!r}"


def without_decimals(name: str) -> str:
    """Return a name without decimal numbers: columns may be swapped, or a file lack its heading.

    Example:
        >>> without_decimals("bus 2, load 210.5"), without_decimals("LV1.101 Load 3")
        ('bus 2, load (a number)', 'LV1.101 Load 3')
    """
    return _DECIMAL.sub("(a number)", name)


def _read_parquet(path: Path) -> Table:
    found = _quietly(lambda: parquet.read_table(path))
    if found is None:
        raise GridveilError(f"{path}: this is no Parquet file that can be read; is it cut off?")
    return _checked(Table(str(path), found, first=1))


def _read_csv(path: Path) -> Table:
    wrong: list[int] = []

    def note(row: Any) -> str:
        wrong.append(-1 if row.number is None else row.number)
        return "skip"

    names = _heading(path)
    found = _quietly(
        lambda: arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(use_threads=False),
            parse_options=arrow_csv.ParseOptions(invalid_row_handler=note),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    )
    if wrong:
        place = f"{path}:{wrong[0]}" if wrong[0] > 0 else str(path)
        raise GridveilError(
            f"{place}: other than {len(names)} fields, as the first line has; write numbers with a "
            "decimal point and without separators of thousands (9501.13)"
        )
    if found is None:
        raise GridveilError(f"{path}: this is not a CSV file in UTF-8 with a row of data")
    return _checked(Table(str(path), found, first=2))


def _heading(path: Path) -> list[str]:
    """Return the names of the first line of a CSV file."""
    opened = _quietly(lambda: pa.input_stream(str(path), compression="detect").read(1 << 20))
    if opened is None:
        raise GridveilError(f"{path}: cannot be read")
    lines = opened.decode("utf-8-sig", "replace").splitlines()
    names = next(csv.reader(lines[:1]), [])
    if len(names) < 2:
        raise GridveilError(
            f"{path}:1: names of columns separated by commas expected"
            + ("; semicolons do not do" if lines and ";" in lines[0] else "")
        )
    return names


def _checked(table: Table) -> Table:
    twice = [name for name in set(table.names) if table.names.count(name) > 1]
    if twice:
        raise GridveilError(f"{table.source}: {shown(min(twice))} is there twice")
    if not len(table.columns):
        raise GridveilError(f"{table.source}: without a row of data")
    return table


def _as_floats(cells: pa.Array) -> FloatArray | None:
    """Return cells as numbers, NaN where they are empty; None where one is no number."""
    if pa.types.is_null(cells.type):
        return np.full(len(cells), np.nan)
    if pa.types.is_boolean(cells.type):
        return None
    cast = _quietly(lambda: pc.cast(_plain_text(cells), pa.float64(), safe=False))
    return None if cast is None else np.asarray(cast.to_numpy(zero_copy_only=False), dtype=float)


def _first_no_number(cells: pa.Array) -> int:
    """Return the first row that is no number, where there is one."""
    begin, end = 0, len(cells)
    while end - begin > 1:
        middle = (begin + end) // 2
        if _as_floats(cells.slice(begin, middle - begin)) is None:
            end = middle
        else:
            begin = middle
    return begin


def _plain_text(cells: pa.Array) -> pa.Array:
    return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _quietly(work: Callable[[], Any]) -> Any:
    """Return what a function returns; None where pyarrow or pandas refuses."""
    try:
        return work()
    except (pa.ArrowException, ValueError, TypeError, OSError, OverflowError):
        return None
