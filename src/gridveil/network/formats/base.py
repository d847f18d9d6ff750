"""The interface of a case-file format: recognise a file, read it, write it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from gridveil.errors import GridveilError
from gridveil.network.network import Network


class CaseFormat(ABC):
    """A kind of file that holds a network.

    A format is found by the suffix of a file and, where several formats share one, by its content.
    It is created without arguments.
    """

    name: ClassVar[str]
    """What messages call it: "matpower"."""
    suffixes: ClassVar[tuple[str, ...]]
    """Suffixes of its files in lower case, the dot included."""
    injection_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of fixed injections that an owner may declare public."""

    def __init__(self, public_injections: Sequence[str] = ()) -> None:
        self._public = tuple(public_injections)

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Return whether the content of a file looks like this format.

        Called for any existing file, whatever its suffix; must be fast and must not raise.
        """

    @abstractmethod
    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network.

        Args:
            path: An existing file.
            load_buses: Numbers of the buses with a load, as for `gridveil.load_case`. None takes
                the buses with a load in the file.

        Raises:
            GridveilError: The file cannot be used. The message names the place and the cause.
        """

    @abstractmethod
    def write(self, network: Network, path: Path) -> None:
        """Write a network, whole or not at all.

        Raises:
            GridveilError: The file cannot be written, or cannot hold this network.
        """

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:  # noqa: ARG002
        """Write a copy of a source in which the loads of a network stand, and nothing else changed.

        Loads are found by their keys (`network.load_identities`, `network.idle_loads`). Idle ones
        become 0, unless the network lists them as released. Results of an earlier power flow are
        cleared.

        Args:
            network: What was read from the source, with other loads.
            source: A file of this format.
            path: The copy.

        Returns:
            Sentences on what the format cannot hold, and on what else of the source may speak of
            its loads in the copy.

        Raises:
            GridveilError: The format cannot do it, or the source has other loads.
        """
        raise GridveilError(
            f"{source}: format {self.name!r} cannot be written back; loads.csv of the release has "
            "every load"
        )

    def with_public_injections(self, kinds: Sequence[str]) -> Self:
        """Return this format, reading fixed injections of these kinds as public generators.

        Args:
            kinds: Some of its `injection_kinds`; the other injections are loads.

        Raises:
            GridveilError: The format has no such kind of injections.
        """
        if not self.injection_kinds:
            raise GridveilError(
                f"public injections ({', '.join(kinds)}): {self.name} files have none of their own"
            )
        unknown = sorted(set(kinds) - set(self.injection_kinds))
        if unknown:
            raise GridveilError(
                f"public injections: {unknown[0]!r} is none of {', '.join(self.injection_kinds)}, "
                f"which {self.name} files have"
            )
        return type(self)(kinds)


class ReadOnlyFormat(CaseFormat):
    """A format whose files hold more than a network: read, and at most filled in again."""

    def write(self, network: Network, path: Path) -> None:
        """Refuse."""
        del network
        raise GridveilError(
            f"{path}: {self.name} files are not written from nothing; write a MATPOWER file (.m), "
            "or loads into a copy of the file they came from"
        )


def first_bytes(path: Path, count: int) -> bytes:
    """Return the beginning of a file for `recognises`; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""
