"""A folder that appears whole or not at all, and never over another one."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gridveil.errors import GridveilError


def refuse_existing(path: Path) -> None:
    """Refuse a folder that is there already."""
    if path.exists() or path.is_symlink():
        raise GridveilError(f"{path} exists and is not overwritten; choose another folder")


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, through a hidden one beside it that then gets its name."""
    refuse_existing(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    except OSError as error:
        raise GridveilError(f"cannot write {path}: {error.strerror}") from error
    try:
        for name, data in files.items():
            target = temporary / name
            target.parent.mkdir(exist_ok=True)
            with target.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        refuse_existing(path)
        temporary.rename(path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        raise


def _prefix(path: Path) -> str:
    return f".{path.name}.unfinished-"


def _remove_leftovers(path: Path) -> None:
    """Remove what a killed process left behind."""
    for leftover in path.parent.glob(f"{_prefix(path)}*"):
        shutil.rmtree(leftover, ignore_errors=True)
