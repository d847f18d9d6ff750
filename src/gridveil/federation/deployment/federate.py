"""A whole federation on one machine: a process to each party, and all the security of many.

Slices have true loads, so they go to their parties through pipes and never touch the disk.
"""

import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gridveil.errors import GridveilError
from gridveil.federation.deployment.assembly import assemble
from gridveil.federation.deployment.contribution import Contribution, read_contribution
from gridveil.federation.deployment.members import warm_up
from gridveil.federation.deployment.outcome import Outcome, read_outcome
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.slices import Slice
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.certificates import identity_of, issue, make_authority
from gridveil.network.network import Network
from gridveil.publication.costs import PublicCosts
from gridveil.publication.make import Release

CONSORTIUM = "embedded"
_HOST = "127.0.0.1"
_DAYS = 1.0
_POLL_SECONDS = 0.1
_LEAVING_SECONDS = 3.0
STANDARD_INPUT = "-"


@dataclass
class Standing:
    """Where a member stands, as it tells itself."""

    told: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    exit_status: int | None = None


def federate(
    network: Network,
    slices: Sequence[Slice],
    run: Run,
    costs: PublicCosts,
    ledger: Path,
    key: Ed25519PrivateKey | None = None,
    tell: Callable[[str], None] = lambda _: None,
    watch: Callable[[Mapping[str, Standing]], None] = lambda _: None,
) -> Release:
    """Run a federation and put what its parties publish together to a release.

    `watch` gets where everybody stands, several times a second.
    """
    warm_up(tell)
    with tempfile.TemporaryDirectory(prefix="gridveil-federation-") as name:
        folder = Path(name)
        configure(folder, slices, run, ledger)
        contributions, outcome = run_members(folder, slices, watch)
    tell("verification and report")
    return assemble(network, contributions, costs.provenance, costs.source, outcome.residuals, key)


def run_members(
    folder: Path, slices: Sequence[Slice], watch: Callable[[Mapping[str, Standing]], None]
) -> tuple[list[Contribution], Outcome]:
    """Run everybody who is configured in a folder; return what they publish."""
    with _members(folder, {part.party: part for part in slices}) as standing:
        _wait(standing, watch)
    contributions = [read_contribution(folder / f"{part.party}.released") for part in slices]
    return contributions, read_outcome(folder / f"{COORDINATOR}.outcome")


def configure(
    folder: Path,
    slices: Sequence[Slice],
    run: Run,
    ledger: Path,
    addresses: Mapping[str, str] | None = None,
) -> None:
    """Write throw-away certificates and everybody's configuration; addresses are host:port."""
    names = [*(part.party for part in slices), COORDINATOR]
    addresses = addresses or dict(zip(names, _free_addresses(len(names)), strict=True))
    make_authority(folder / "authority", CONSORTIUM, 2 * _DAYS)
    for name in names:
        host = addresses[name].rpartition(":")[0]
        issue(folder / "authority", folder / "members", name, [host], _DAYS)
    shared = {"consortium": CONSORTIUM, "run": run.model_dump(mode="json")}
    for name in names:
        own = identity_of(folder / "members", name)
        config = {
            **shared,
            "listen": addresses[name],
            "authority": str(own.authority),
            "certificate": str(own.certificate),
            "key": str(own.key),
            "state": f"{name}.state",
        }
        if name == COORDINATOR:
            peers = [part.party for part in slices]
            config["outcome"] = f"{name}.outcome"
        else:
            part = next(part for part in slices if part.party == name)
            peers = [*part.neighbours, COORDINATOR]
            config |= {
                "name": name,
                "slice": STANDARD_INPUT,
                "ledger": str(ledger.absolute()),
                "released": f"{name}.released",
            }
        config["peers"] = {peer: addresses[peer] for peer in peers}
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


@contextmanager
def _members(folder: Path, slices: Mapping[str, Slice]) -> Iterator[dict[str, Standing]]:
    """Start everybody whose configuration is in a folder; end who still runs."""
    standing = {name: Standing() for name in (*slices, COORDINATOR)}
    processes = []
    try:
        for name in standing:
            process = start_member(folder / f"{name}.toml", slices.get(name))
            processes.append(process)
            threading.Thread(target=_follow, args=(process, standing[name]), daemon=True).start()
        yield standing
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(_LEAVING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def start_member(config: Path, part: Slice | None) -> "subprocess.Popen[str]":
    """Start a party with its slice through a pipe, or without one the coordinator."""
    command = "coordinator" if part is None else "party"
    process = subprocess.Popen(
        [sys.executable, "-m", "gridveil", command, "--config", str(config), "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # it says itself why it has ended
        if part is not None:
            pipe.write(part.model_dump_json())
    return process


def _wait(
    standing: Mapping[str, Standing], watch: Callable[[Mapping[str, Standing]], None]
) -> None:
    """Wait until all are done, or tell why one is not."""
    while any(one.exit_status is None for one in standing.values()):
        watch(standing)
        time.sleep(_POLL_SECONDS)
    watch(standing)
    failed = {name: one for name, one in standing.items() if one.exit_status != 0}
    if failed:
        # Whoever found out has a reason of its own; the others were told to stop.
        name, first = min(
            failed.items(), key=lambda item: "stopped the run" in " ".join(item[1].errors)
        )
        last = first.errors[-1] if first.errors else f"ended with status {first.exit_status}"
        raise GridveilError(f"the federation failed: {name}: {last.removeprefix('error: ')}")


def _follow(process: "subprocess.Popen[str]", one: Standing) -> None:
    """Take note of what a member tells, until it ends."""
    errors = threading.Thread(target=_take_errors, args=(process.stderr, one), daemon=True)
    errors.start()
    assert process.stdout is not None
    for line in process.stdout:
        one.told = json.loads(line)
    errors.join()
    one.exit_status = process.wait()


def _take_errors(stream: IO[str], one: Standing) -> None:
    for line in stream:
        one.errors.append(line.strip())


def _free_addresses(count: int) -> list[str]:
    """Return addresses on this machine that nobody listens at, now."""
    sockets = [socket.create_server((_HOST, 0)) for _ in range(count)]
    addresses = [f"{_HOST}:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses
