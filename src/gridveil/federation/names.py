"""Names of members; they appear in certificates and in the keys of messages."""

import re

from gridveil.errors import GridveilError

COORDINATOR = "coordinator"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_name(name: str) -> str:
    """Return a name; refuse one that a certificate or a message key cannot hold."""
    if not _NAME.fullmatch(name):
        raise GridveilError(
            f"{name!r} cannot be a name: use 1 to 64 letters, digits, '-' and '_', without accents"
        )
    return name


def check_party_name(name: str) -> str:
    """Return the name of a party; refuse the coordinator's."""
    if check_name(name) == COORDINATOR:
        raise GridveilError(f"{name!r} is reserved for the coordinator; choose another name")
    return name
