"""What can be chosen about the fidelity phase, by name."""

from enum import StrEnum
from typing import TypeVar

from gridveil.errors import GridveilError


class Method(StrEnum):
    """How the fidelity phase is solved."""

    CENTRAL = "central"
    BILEVEL = "bilevel"
    ADMM = "admm"


class BandKind(StrEnum):
    """Whose costs stay within β."""

    GENERATOR = "generator"
    TOTAL = "total"


Choice = TypeVar("Choice", bound=StrEnum)


def chosen(kind: type[Choice], name: str, what: str) -> Choice:
    """Return the choice of that name, or say which there are."""
    try:
        return kind(name)
    except ValueError:
        raise GridveilError(f"{what}: {name!r} is none of {', '.join(kind)}") from None
