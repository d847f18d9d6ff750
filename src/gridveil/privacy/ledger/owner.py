"""The owner of a network's loads, as a ledger knows it."""

import hashlib

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.load_keys import branches, load_keys, surroundings
from gridveil.network.network import Network
from gridveil.privacy.ledger.records import LoadOwner, RegisterChoice


def owner_of(network: Network, register: RegisterChoice | None = None) -> LoadOwner:
    """Return the owner of all loads of a network, in the register it is said to belong to."""
    keys = load_keys(network)
    return LoadOwner(
        network=network_id(network),
        label=network.name,
        base_mva=network.base_mva,
        buses=network.load_buses,
        keys=keys.in_service,
        surroundings=surroundings(network, network.load_buses),
        idle=keys.idle,
        idle_surroundings=surroundings(network, keys.idle_buses),
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
