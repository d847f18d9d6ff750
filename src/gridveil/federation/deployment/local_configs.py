"""Configurations and throw-away certificates for a federation on this machine."""

import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gridveil.federation.deployment.config import STANDARD_INPUT
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.slices import Slice
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport import certs
from gridveil.privacy.ledger.ledger import Place
from gridveil.privacy.ledger.postgresql import is_address

CONSORTIUM = "embedded"
_HOST = "127.0.0.1"
_DAYS = 1.0


def write_configs(
    folder: Path,
    slices: Sequence[Slice],
    run: Run,
    ledger: Place,
    register: str | None = None,
    addresses: Mapping[str, str] | None = None,
) -> None:
    """Write certificates and a configuration for each member.

    Args:
        folder: Where NAME.toml is written for each party and for the coordinator.
        slices: Of all parties; they are not written.
        run: The settings of the run.
        ledger: The ledger of all parties.
        register: The register of it that has their loads; None where there is no doubt.
        addresses: host:port of each member, by name; free ports of this machine by default.
    """
    names = [*(each.party for each in slices), COORDINATOR]
    addresses = addresses or dict(zip(names, _free_addresses(len(names)), strict=True))
    certs.init(folder / "authority", CONSORTIUM, 2 * _DAYS)
    for name in names:
        host = addresses[name].rpartition(":")[0]
        certs.issue(folder / "authority", name, folder / "members", host, _DAYS)
    for each in slices:
        peers = {peer: addresses[peer] for peer in (*each.neighbours, COORDINATOR)}
        own = {
            "name": each.party,
            "slice": STANDARD_INPUT,
            "ledger": str(ledger) if is_address(str(ledger)) else str(Path(ledger).absolute()),
            "released": f"{each.party}.released",
            **({} if register is None else {"ledger_register": register}),
        }
        config = _member(folder, each.party, addresses[each.party], peers, run, own)
        _write(folder, each.party, config)
    peers = {each.party: addresses[each.party] for each in slices}
    own = {"outcome": f"{COORDINATOR}.outcome"}
    config = _member(folder, COORDINATOR, addresses[COORDINATOR], peers, run, own)
    _write(folder, COORDINATOR, config)


def _member(
    folder: Path,
    name: str,
    address: str,
    peers: Mapping[str, str],
    run: Run,
    own: Mapping[str, Any],
) -> dict[str, Any]:
    identity = certs.identity_of(folder / "members", name)
    return {
        "consortium": CONSORTIUM,
        "listen": address,
        "authority": str(identity.authority),
        "certificate": str(identity.certificate),
        "key": str(identity.key),
        "state": f"{name}.state",
        **own,
        "run": run.model_dump(mode="json", exclude_none=True),
        "peers": dict(peers),
    }


def _write(folder: Path, name: str, config: Mapping[str, Any]) -> None:
    (folder / f"{name}.toml").write_text(toml_text(config), encoding="utf-8")


def toml_text(config: Mapping[str, Any]) -> str:
    """Return a configuration as TOML: plain values first, then tables."""
    plain = [f"{name} = {json.dumps(v)}" for name, v in config.items() if not isinstance(v, dict)]
    tables = [
        "\n".join(["", f"[{name}]", toml_text(table)])
        for name, table in config.items()
        if isinstance(table, dict)
    ]
    return "\n".join([*plain, *tables])


def _free_addresses(count: int) -> list[str]:
    """Return addresses on this machine at which nothing listens now."""
    sockets = [socket.create_server((_HOST, 0)) for _ in range(count)]
    addresses = [f"{_HOST}:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return addresses
