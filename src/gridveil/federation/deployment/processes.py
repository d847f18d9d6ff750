"""Runs all members of a federation on this machine, a process each, and follows their progress.

Slices hold true loads, so they go to their parties through pipes and are never written to disk.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gridveil.errors import GridveilError
from gridveil.federation.deployment.contribution import Contribution, read_contribution
from gridveil.federation.deployment.outcome import Outcome, read_outcome
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.slices import Slice

_POLL_SECONDS = 0.1
_TERMINATION_SECONDS = 3.0


@dataclass
class MemberStatus:
    """What a member's process has printed, and how it ended."""

    progress: dict[str, Any] = field(default_factory=dict)
    """Its last line of JSON."""
    errors: list[str] = field(default_factory=list)
    exit_status: int | None = None


Watch = Callable[[Mapping[str, MemberStatus]], None]


def run_members(
    folder: Path, slices: Sequence[Slice], watch: Watch = lambda _: None
) -> tuple[list[Contribution], Outcome]:
    """Run all members whose configurations are in a folder; return what they publish.

    `watch` gets the status of all members several times a second.
    """
    with _started_members(folder, {each.party: each for each in slices}) as members:
        _wait(members, watch)
    contributions = [read_contribution(folder / f"{each.party}.released") for each in slices]
    return contributions, read_outcome(folder / f"{COORDINATOR}.outcome")


def start_member(config: Path, party_slice: Slice | None) -> "subprocess.Popen[str]":
    """Start a party with its slice through a pipe, or without one the coordinator."""
    command = "coordinator" if party_slice is None else "party"
    process = subprocess.Popen(
        [sys.executable, "-m", "gridveil", command, "--config", str(config), "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # its own error says why it ended
        if party_slice is not None:
            pipe.write(party_slice.model_dump_json())
    return process


@contextmanager
def _started_members(
    folder: Path, slices: Mapping[str, Slice]
) -> Iterator[dict[str, MemberStatus]]:
    """Start all members; in the end, terminate those that still run."""
    members = {name: MemberStatus() for name in (*slices, COORDINATOR)}
    processes = []
    try:
        for name, status in members.items():
            process = start_member(folder / f"{name}.toml", slices.get(name))
            processes.append(process)
            threading.Thread(target=_follow, args=(process, status), daemon=True).start()
        yield members
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(_TERMINATION_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(members: Mapping[str, MemberStatus], watch: Watch) -> None:
    """Wait until all members have ended; raise the error of one that failed."""
    while any(status.exit_status is None for status in members.values()):
        watch(members)
        time.sleep(_POLL_SECONDS)
    watch(members)
    failed = {name: status for name, status in members.items() if status.exit_status != 0}
    if failed:
        name = min(failed, key=lambda name: _was_stopped_by_another(failed[name]))
        errors, exit_status = failed[name].errors, failed[name].exit_status
        last = errors[-1] if errors else f"ended with status {exit_status}"
        raise GridveilError(f"the federation failed: {name}: {last.removeprefix('error: ')}")


def _was_stopped_by_another(status: MemberStatus) -> bool:
    return "stopped the run" in " ".join(status.errors)


def _follow(process: "subprocess.Popen[str]", status: MemberStatus) -> None:
    """Record what a member's process prints, until it ends."""
    errors = threading.Thread(target=_follow_errors, args=(process.stderr, status), daemon=True)
    errors.start()
    assert process.stdout is not None
    for line in process.stdout:
        status.progress = json.loads(line)
    errors.join()
    status.exit_status = process.wait()


def _follow_errors(stream: IO[str], status: MemberStatus) -> None:
    for line in stream:
        status.errors.append(line.strip())
