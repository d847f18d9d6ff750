"""Reads the folder of a release that may be hostile.

Only regular files that lie in the folder itself are read, and only up to a limit. What is checked
is the file that was opened: nothing can be put in its place between the check and the reading.
"""

import errno
import os
import stat
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gridveil.errors import GridveilError
from gridveil.printable import excerpt
from gridveil.publication.folder import (
    CERTIFICATE,
    HISTORY,
    LOADS,
    NETWORK,
    POSITIONS,
    REPORT,
    SIGNATURE,
)

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
LARGEST_TABLE = 16 * _GIB
"""Of the loads of a series as CSV, which has the name of a snapshot's small table."""

LIMITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        CERTIFICATE: 2 * _MIB,
        SIGNATURE: 64 * _KIB,
        NETWORK: 64 * _MIB,
        LOADS: 8 * _MIB,
        REPORT: 96 * _MIB,
        HISTORY: 64 * _MIB,
        POSITIONS: 8 * _MIB,
        "ramps.csv": 8 * _MIB,
        "loads.parquet": 4 * _GIB,
        "dispatch.parquet": 4 * _GIB,
        "voltages.parquet": 4 * _GIB,
        "hours.parquet": _GIB,
    }
)
"""The largest size of each file of a release, in bytes.

Of a network with 78,484 buses, the largest of PGLib, a release has a certificate of 0.9 MB, a case
file of 16 MB (of version 0.2, with all of the source file, 30 MB), 2.4 MB of loads, 1.6 MB of
positions and a report of 69 MB. A history of a million iterations has 60 MB. The tables of a series
have about 10 bytes for each number: those of a year of 118 buses some 20 MB each.
"""
MOST_ENTRIES = 100
"""The most entries that the folder of a release may have."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = _MIB
_LONGEST_NAME = 100
_HELP = f"a release is a folder with {NETWORK}, {LOADS} and {CERTIFICATE}"


def read_release_file(folder: Path, name: str, limit: int | None = None) -> bytes:
    """Return the contents of a file of a release.

    Args:
        folder: The folder of the release.
        name: The name of the file in it.
        limit: The most bytes it may have; that of `LIMITS` if None.

    Raises:
        GridveilError: It is not there, a link, not a regular file, or too large.
    """
    data = read_optional_file(folder, name, limit)
    if data is None:
        raise GridveilError(f"{folder / name}: {os.strerror(errno.ENOENT)}; {_HELP}")
    return data


def read_optional_file(folder: Path, name: str, limit: int | None = None) -> bytes | None:
    """Return the contents of a file of a release as `read_release_file` does; None without one."""
    most = _limit(folder, name) if limit is None else limit
    path = folder / _plain(folder, name)
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise GridveilError(
                f"{path}: is a symbolic link, which is not followed; {_HELP}"
            ) from None
        raise GridveilError(f"{path}: {error.strerror}; {_HELP}") from error
    try:
        return _contents(handle, path, most)
    except OSError as error:
        raise GridveilError(f"{path}: {error.strerror}; {_HELP}") from error
    finally:
        os.close(handle)


def list_release_folder(folder: Path) -> tuple[str, ...]:
    """Return the names in the folder of a release, in order; refuse one with too many of them."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES + 1)]
    except OSError as error:
        raise GridveilError(f"{folder}: {error.strerror}; {_HELP}") from error
    if len(names) > MOST_ENTRIES:
        raise GridveilError(f"{folder}: has more than {MOST_ENTRIES} entries; {_HELP}")
    return tuple(sorted(names))


def _limit(folder: Path, name: str) -> int:
    if name not in LIMITS:
        shown = excerpt(name, _LONGEST_NAME)
        raise GridveilError(f"{folder}: {shown!r} is not the name of a file of a release; {_HELP}")
    return LIMITS[name]


def _plain(folder: Path, name: str) -> str:
    """Return the name of a file, or refuse one that could lead out of the folder."""
    if name in ("", ".", "..") or not {"/", os.sep, "\0"}.isdisjoint(name):
        shown = excerpt(name, _LONGEST_NAME)
        raise GridveilError(f"{folder}: {shown!r} is not the name of a file in it; {_HELP}")
    return name


def _contents(handle: int, path: Path, limit: int) -> bytes:
    """Read an open file, which may grow meanwhile, up to its limit."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise GridveilError(f"{path}: is not a file; {_HELP}")
    chunks, length = [], 0
    if status.st_size <= limit:
        while chunk := os.read(handle, min(_CHUNK, limit + 1 - length)):
            chunks.append(chunk)
            length += len(chunk)
            if length > limit:
                break
    if status.st_size > limit or length > limit:
        raise GridveilError(
            f"{path}: is too large for a file of a release, which has at most {limit:,} bytes"
        )
    return b"".join(chunks)
