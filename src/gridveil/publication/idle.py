"""The loads of a network that are out of service: left out of a release, or protected like others.

They have accounts in the ledger either way. Released ones get noise and stand in the table of loads
alone: no operating point moves them, and they are in no case file.
"""

from dataclasses import replace
from enum import StrEnum

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.network import Network

_SHOWN = 5


class IdleChoice(StrEnum):
    """What a release does with idle loads."""

    LEAVE_OUT = "leave-out"
    RELEASE = "release"


def listing_idle(network: Network, choice: IdleChoice | str) -> Network:
    """Return the network as a release lists its loads.

    Raises:
        GridveilError: There is no such choice, or a load to be released has no bus in the file.
    """
    try:
        is_released = IdleChoice(choice) is IdleChoice.RELEASE
    except ValueError:
        known = ", ".join(IdleChoice)
        raise GridveilError(
            f"--idle-loads (idle_loads in Python): {choice!r} is none of {known}"
        ) from None
    idle = network.idle_loads
    if is_released:
        unknown = np.flatnonzero(~np.isin(idle.bus, network.case.tables["bus"].column("bus_i")))
        if len(unknown):
            raise GridveilError(
                f"--idle-loads release: {idle.identities[unknown[0]].key} is at a bus that the "
                "network does not have; put the bus into the source, or leave idle loads out"
            )
    return replace(network, lists_idle_loads=is_released)


def idle_sentence(network: Network) -> str:
    """Say which loads are out of service, by their places, and what a release does with them."""
    labels = network.idle_loads.labels
    more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    what = (
        "released with noise of their own, in the table of loads alone"
        if network.lists_idle_loads
        else "left out (--idle-loads release protects and releases them too)"
    )
    return (
        f"loads out of service ({len(labels)}), {what}: {', '.join(labels[:_SHOWN])}{more}; "
        "'gridveil solve --json' lists them"
    )
