"""MATPOWER version 2 case files (.m)."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gridveil.errors import GridveilError
from gridveil.files import write_atomically
from gridveil.network.conversion import FIELDS, build_network, changes
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.formats.matpower_parser import parse_matpower, read_matpower
from gridveil.network.formats.matpower_writer import edited_text
from gridveil.network.from_case import network_from_case
from gridveil.network.network import Network

_LOOKED_AT = 1 << 16
"""Bytes of a file in which its first assignment is looked for; long comments may come first."""
_ASSIGNMENT = re.compile(rb"^\s*(function\s+\w+\s*=|mpc\.\w+\s*=)", re.MULTILINE)


class MatpowerFormat(CaseFormat):
    """MATPOWER version 2 case files; saving keeps everything in them but the changed values."""

    name = "matpower"
    suffixes = (".m",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins with a case function or an assignment to `mpc`."""
        return _ASSIGNMENT.search(first_bytes(path, _LOOKED_AT)) is not None

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; every problem of its tables is found at once, with file and line."""
        return network_from_case(read_matpower(path), load_buses)

    def write(self, network: Network, path: Path) -> None:
        """Write the text of the network's source with only the changed values replaced."""
        write_atomically(path, saved_text(network).encode("utf-8", "surrogateescape"))


def saved_text(network: Network) -> str:
    """Return the source's text with this network's values.

    Raises:
        GridveilError: The text cannot hold one of the values.
    """
    edits = changes(network)
    text = edited_text(network.case, edits)
    if edits:
        case = parse_matpower(text, network.case.source, network.case.name)
        again = build_network(case, np.unique(network.loads.row))
        _check_finite(again)
        for f in FIELDS:
            wanted, got = (getattr(getattr(n, f.part), f.name) for n in (network, again))
            if not np.allclose(wanted, got, rtol=1e-14, atol=0.0):
                raise GridveilError(
                    f"cannot save {network.name}: its file cannot hold the values of "
                    f"{f.part}.{f.name} (a rate of 0 means no limit there, for example)"
                )
    return text


def _check_finite(saved: Network) -> None:
    if not np.isfinite(saved.loads.values).all():
        raise GridveilError(f"cannot save {saved.name}: its file cannot hold loads as large")
