"""Names of members: they become parts of certificates and of message keys."""

import re

from gridveil.errors import GridveilError

COORDINATOR = "coordinator"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_name(name: str) -> str:
    """Return a name, or refuse one that could not be part of a key expression or a certificate."""
    if not _NAME.fullmatch(name):
        raise GridveilError(
            f"{name!r} cannot be a name: use 1 to 64 letters, digits, '-' and '_', without accents"
        )
    return name


def check_party_name(name: str) -> str:
    """Return the name of a party, which is any but that of the coordinator."""
    if check_name(name) == COORDINATOR:
        raise GridveilError(f"{name!r} is kept for the coordinator")
    return name
