"""The configuration of a member, a TOML file. Paths in it are relative to the file."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from gridveil.errors import GridveilError, told_as_mistakes
from gridveil.federation.names import COORDINATOR
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.certificates import Identity
from gridveil.files import read_toml


class Member(BaseModel):
    """How a member reaches the others, and what is to be run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    consortium: str
    listen: str
    """host:port"""
    peers: dict[str, str]
    """host:port of everybody it talks to."""
    authority: Path
    certificate: Path
    key: Path
    state: Path
    """Where it keeps what it needs to go on after a crash."""
    record: Path | None = None
    """Where to write everything that is said to it and by it, before encryption."""
    run: Run

    @property
    def identity(self) -> Identity:
        """Its certificate."""
        return Identity(self.authority, self.certificate, self.key)


class PartyConfig(Member):
    """A party: also its name, its slice, its ledger, and where its released loads go."""

    name: str
    slice: Path
    ledger: Path
    released: Path


class CoordinatorConfig(Member):
    """The coordinator: also where it writes how the run went."""

    outcome: Path


M = TypeVar("M", bound=Member)


def read_config(path: Path, kind: type[M]) -> M:
    """Read the configuration of a member, or say what is wrong with it."""
    content = read_toml(path)
    with told_as_mistakes(path):
        config = kind.model_validate(content)
    here = path.parent
    paths = {name: here / value for name, value in config if isinstance(value, Path)}
    config = config.model_copy(update=paths)
    name = config.name if isinstance(config, PartyConfig) else COORDINATOR
    if isinstance(config, PartyConfig):
        if name not in config.run.parties:
            raise GridveilError(f"{path}: run.parties: {name!r} is not among them")
        needed = {COORDINATOR}
    else:
        needed = set(config.run.parties)
    missing = sorted(needed - set(config.peers))
    if missing:
        raise GridveilError(f"{path}: peers: the address of {missing[0]} is missing")
    return config
