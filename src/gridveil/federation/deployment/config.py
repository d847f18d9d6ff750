"""The configuration of a member, a TOML file. Paths in it are relative to the file."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from gridveil.errors import GridveilError, document_errors
from gridveil.federation.names import COORDINATOR
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.certs import Identity
from gridveil.files import read_toml
from gridveil.privacy.ledger.owner import register_choice
from gridveil.privacy.ledger.postgresql import is_address
from gridveil.privacy.ledger.records import RegisterChoice

STANDARD_INPUT = "-"
"""As the name of a slice file: the slice comes through standard input."""


class MemberConfig(BaseModel):
    """Where a member reaches the others, and the settings of the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    consortium: str
    listen: str
    """Its own address, as host:port."""
    peers: dict[str, str]
    """The address of each peer, as host:port, by name."""
    authority: Path
    certificate: Path
    key: Path
    state: Path
    """Where its last iterations are saved, to resume after a crash."""
    record: Path | None = None
    """Where all messages are recorded, before encryption."""
    run: Run

    @property
    def identity(self) -> Identity:
        """The files with which it proves its name."""
        return Identity(self.authority, self.certificate, self.key)


class PartyConfig(MemberConfig):
    """The configuration of a party."""

    name: str
    slice: Path
    ledger: str
    """Its file, or the address of a database."""
    ledger_register: str | None = None
    """The register of its ledger that has these loads, where it asks."""
    new_ledger_register: str | None = None
    """The name of a new register: these are other loads than any its ledger knows."""
    released: Path
    """Where its contribution is written."""

    @property
    def register_choice(self) -> RegisterChoice | None:
        """What was said of the register."""
        return register_choice(self.ledger_register, self.new_ledger_register)


class CoordinatorConfig(MemberConfig):
    """The configuration of the coordinator."""

    outcome: Path
    """Where status and residuals of the run are written."""


C = TypeVar("C", bound=MemberConfig)


def read_config(path: Path, kind: type[C]) -> C:
    """Read the configuration of a member, or say what is wrong with it."""
    content = read_toml(path)
    with document_errors(path):
        config = kind.model_validate(content)
    paths: dict[str, object] = {
        name: path.parent / value for name, value in config if isinstance(value, Path)
    }
    if isinstance(config, PartyConfig) and not is_address(config.ledger):
        paths["ledger"] = str(path.parent / config.ledger)
    config = config.model_copy(update=paths)
    if isinstance(config, PartyConfig) and config.name not in config.run.parties:
        raise GridveilError(f"{path}: run.parties: {config.name!r} is not among them")
    required = {COORDINATOR} if isinstance(config, PartyConfig) else set(config.run.parties)
    missing = sorted(required - set(config.peers))
    if missing:
        raise GridveilError(f"{path}: peers: the address of {missing[0]} is missing")
    return config
