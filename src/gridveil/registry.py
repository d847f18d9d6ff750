"""Named strategies of one kind, such as mechanisms: ours, and those of other packages.

A registry holds a line for each of ours. Another package adds one of its own by an entry point, for
example in its pyproject.toml:

    [project.entry-points."gridveil.mechanisms"]
    staircase = "my_package:Staircase"

Names on the command line, in study files and in certificates are the names of a registry. Nothing
is imported before it is asked for.
"""

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from gridveil.errors import GridveilError

T = TypeVar("T")


class Registry(Generic[T]):
    """The strategies of one kind, by name."""

    def __init__(self, kind: str, group: str, base: type[T], ours: Mapping[str, str]) -> None:
        """Register our own strategies, each as "module:class".

        Args:
            kind: What they are, for messages: "mechanism".
            group: The entry-point group in which other packages name theirs.
            base: The class that every one of them is a subclass of.
            ours: Our own, by name.
        """
        self.kind, self.group = kind, group
        self._base, self._ours = base, dict(ours)
        self._loaded: dict[str, type[T]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All names, ours first."""
        return (*self._ours, *self._foreign)

    def __contains__(self, name: str) -> bool:
        return name in self._ours or name in self._foreign

    def is_ours(self, name: str) -> bool:
        """Whether a name is one of our own strategies."""
        return name in self._ours

    def get(self, name: str) -> type[T]:
        """Return the class of this name.

        Raises:
            GridveilError: There is no such name, or its package cannot be loaded or does not keep
                to the interface.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    @cached_property
    def _foreign(self) -> dict[str, EntryPoint]:
        """Strategies of other packages; none can take the place of ours."""
        found = sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value))
        return {point.name: point for point in found if point.name not in self._ours}

    def _load(self, name: str) -> type[T]:
        if name in self._ours:
            module, _, attribute = self._ours[name].partition(":")
            ours: type[T] = getattr(import_module(module), attribute)
            return ours
        if name in self._foreign:
            return self._load_foreign(self._foreign[name])
        raise GridveilError(f"{self.kind}: {name!r} is none of {', '.join(self.names)}")

    def _load_foreign(self, point: EntryPoint) -> type[T]:
        package = _package(point)
        where = f"{self.kind} {point.name!r} of the package {package}"
        namesakes = {
            (_package(one), one.value) for one in entry_points(group=self.group, name=point.name)
        }
        if len(namesakes) > 1:  # none of them can be meant without a doubt
            raise GridveilError(
                f"{self.kind} {point.name!r} is in several packages: "
                f"{', '.join(sorted(name for name, _ in namesakes))}; remove all but one"
            )
        try:
            found = point.load()
        except (Exception, SystemExit) as error:  # whatever the code of another package raises
            raise GridveilError(f"{where} cannot be loaded: {error}") from error
        if not (isinstance(found, type) and issubclass(found, self._base)):
            raise GridveilError(
                f"{where} is not a subclass of {self._base.__module__}.{self._base.__qualname__}"
            )
        missing = sorted(getattr(found, "__abstractmethods__", ()))
        if missing:
            raise GridveilError(f"{where} does not define {', '.join(missing)}")
        name: object = getattr(found, "name", None)
        if isinstance(name, str) and name != point.name:
            raise GridveilError(f"{where} has another name in its class, {name!r}")
        return found


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
