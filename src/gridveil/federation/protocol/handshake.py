"""Members greet each other before anything is drawn or run: all are there, and mean the same."""

from collections.abc import Mapping

import numpy as np

from gridveil.errors import GridveilError
from gridveil.federation.protocol.mailbox import Correspondence, digest_values
from gridveil.federation.protocol.messages import Kind

_START_PATIENCE = 600.0
"""How long to wait for members that are not there yet: somebody may still be compiling."""


def say_hello(letters: Correspondence, digests: Mapping[str, bytes]) -> None:
    """Tell others what to agree on; it is kept for those who come later, or again."""
    for other, digest in digests.items():
        letters.post(Kind.HELLO, 0, other, digest_values(digest))


def await_hello(letters: Correspondence, name: str, digests: Mapping[str, bytes]) -> None:
    """Wait until everybody is there, and refuse who means another run."""
    heard = letters.collect(Kind.HELLO, 0, list(digests), patience=_START_PATIENCE)
    for other, values in heard.items():
        if not np.array_equal(values, digest_values(digests[other])):
            raise GridveilError(
                f"{name} and {other} do not agree on the run or on what they share; compare their "
                "settings and slices"
            )
