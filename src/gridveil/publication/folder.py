"""The folder of a release: it appears whole or not at all, and never over another one."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from glob import escape
from pathlib import Path

from gridveil.errors import GridveilError

NETWORK, LOADS, REPORT = "network.m", "loads.csv", "report.html"
POSITIONS, HISTORY = "positions.csv", "history.csv"
CERTIFICATE, SIGNATURE = "certificate.json", "certificate.sig"


def refuse_existing(path: Path) -> None:
    """Refuse a folder that is there already."""
    if path.exists() or path.is_symlink():
        raise GridveilError(f"{path} exists and is not overwritten; choose another folder")


def check_writable(path: Path) -> None:
    """Refuse a folder that could not be written, before any budget is spent on it."""
    refuse_existing(path)
    shutil.rmtree(_unfinished(path), ignore_errors=True)


def write_folder(path: Path, files: Mapping[str, bytes], private: bool = False) -> None:
    """Write files into a new folder, through a hidden one beside it that then gets its name.

    A `private` one is for its owner's eyes only.
    """
    refuse_existing(path)
    temporary = _unfinished(path)
    umask = os.umask(0)
    os.umask(umask)
    try:
        for name, data in files.items():
            target = temporary / name
            target.parent.mkdir(exist_ok=True)
            with target.open("wb") as file:
                os.fchmod(file.fileno(), 0o600 if private else 0o666 & ~umask)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o700 if private else 0o777 & ~umask)
        refuse_existing(path)
        temporary.rename(path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        raise


def _unfinished(path: Path) -> Path:
    """Make a hidden folder beside a path, named after it and this process."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        prefix = f".{path.name}.unfinished-{os.getpid()}-"
        return Path(tempfile.mkdtemp(dir=path.parent, prefix=prefix))
    except OSError as error:
        raise GridveilError(f"cannot write {path}: {error.strerror}") from error


def _remove_leftovers(path: Path) -> None:
    """Remove what killed processes left behind, and nothing that a living one is writing."""
    for leftover in path.parent.glob(f".{escape(path.name)}.unfinished-*"):
        process = leftover.name.rpartition("unfinished-")[2].partition("-")[0]
        if process.isdigit() and not _is_alive(int(process)):
            shutil.rmtree(leftover, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
