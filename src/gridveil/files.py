"""Files: written whole or not at all; read with the place of whatever is wrong in them."""

import csv
import io
import math
import os
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridveil.errors import GridveilError


def write_atomically(path: Path, data: bytes, private: bool = False) -> None:
    """Write `data` to `path` through a temporary file in the same folder.

    A `private` file is for its owner's eyes only.
    """
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise GridveilError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o600 if private else 0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        raise


def csv_bytes(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return a table as the contents of a CSV file."""
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(rows)
    return text.getvalue().encode()


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the rows of a CSV file that has these columns, each with its place for messages."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or [])]
            if missing:
                raise GridveilError(
                    f"{path}:1: no column {missing[0]}; the first line must name the columns "
                    f"{', '.join(columns)}, separated by commas"
                )
            for row in reader:
                place = f"{path}:{reader.line_num}"
                if None in row:  # 9,501.13, say, would be taken for 9
                    raise GridveilError(
                        f"{place}: more fields than the first line names; write numbers without "
                        "separators of thousands (9501.13)"
                    )
                yield place, row
    except OSError as error:
        raise GridveilError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise GridveilError(f"{path}: this is not a CSV file in UTF-8: {error}") from error


def read_columns(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file), [])
    except OSError as error:
        raise GridveilError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise GridveilError(f"{path}: this is not a CSV file in UTF-8: {error}") from error


def finite_number(place: str, name: str, line: Mapping[str, str | None]) -> float:
    """Return a finite number from a column of a line of a file."""
    text = line[name]
    try:
        number = float(text or "")
    except ValueError:
        raise GridveilError(f"{place}: {name} must be a number, not {text or ''!r}") from None
    if not math.isfinite(number):
        raise GridveilError(f"{place}: {name} must be a finite number")
    return number


def read_file(path: Path) -> bytes:
    """Return the contents of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise GridveilError(f"{path}: cannot be read: {error.strerror}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise GridveilError(f"{path}: cannot be read: {error}") from None


def read_bus_list(path: Path) -> list[int]:
    """Read a list of bus numbers, one to a line, with or without the heading "bus"."""
    buses = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise GridveilError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if line.strip() and line.strip().lower() != "bus":
            if not (line.strip().isascii() and line.strip().isdigit()):
                raise GridveilError(f"{path}:{number}: a bus number is needed")
            buses.append(int(line))
    if any(not 0 < bus < 2**53 for bus in buses):
        raise GridveilError(f"{path}: bus numbers are above 0 and below 2^53")
    return buses
