"""The owner of a network's loads, as a ledger knows it."""

import hashlib

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.components import LoadList
from gridveil.network.network import Network
from gridveil.network.surroundings import branches, surroundings
from gridveil.privacy.ledger.records import LoadOwner, RegisterChoice


def owner_of(network: Network, register: RegisterChoice | None = None) -> LoadOwner:
    """Return the owner of the loads that a release lists, in the register it is said to be in."""
    loads = network.listed_loads
    idle = LoadList.none() if network.lists_idle_loads else network.idle_loads
    return LoadOwner(
        network=network_id(network),
        label=network.name,
        base_mva=network.base_mva,
        buses=loads.bus.tolist(),
        keys=[(load.key,) for load in loads.identities],
        surroundings=surroundings(network, loads.bus.tolist()),
        idle=[load.key for load in idle.identities],
        idle_surroundings=surroundings(network, idle.bus.tolist()),
        branches=branches(network),
        register=register,
    )


def network_id(network: Network) -> str:
    """Return an identity of the network made of public facts alone: the numbers of its buses."""
    numbers = np.sort(network.buses.number).astype(">i8")
    return hashlib.sha256(numbers.tobytes()).hexdigest()[:16]


def register_choice(register: str | None, new_register: str | None) -> RegisterChoice | None:
    """Return which register the owner says the loads belong to, if anything was said."""
    if register is not None and new_register is not None:
        raise GridveilError(
            "--register, --new-register: the loads are those of a register or others; drop one"
        )
    name = register if new_register is None else new_register
    if name is None:
        return None
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise GridveilError("a register needs a name of printable characters")
    return RegisterChoice(name, is_new=new_register is not None)
