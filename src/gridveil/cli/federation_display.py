"""What the commands of a federation show: tables of parties, and progress as text or as JSON."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from rich.table import Table

from gridveil.cli.output import PrintableConsole, console, error_console, print_json
from gridveil.network.network import Network

if TYPE_CHECKING:
    from gridveil.federation.deployment.outcome import Outcome
    from gridveil.federation.deployment.processes import MemberStatus
    from gridveil.federation.partition.ownership import Partition
    from gridveil.federation.partition.traffic import Traffic
    from gridveil.federation.protocol.mailbox import Counts

_PROGRESS_SECONDS = 0.2


def log(text: str) -> None:
    """Print a line to standard error."""
    error_console.print(text, highlight=False, soft_wrap=True)


def print_partition(network: Network, partition: "Partition") -> None:
    """Print what each party owns, and what the parties send each other."""
    from gridveil.federation.partition.traffic import traffic

    links = traffic(network, partition)
    console.print(_ownership_table(partition))
    console.print(_traffic_table(links))
    isolated = sorted(set(partition.parties) - {link.sender for link in links})
    if isolated:
        console.print(f"no neighbours: {', '.join(isolated)}", style="yellow")


def members_table(members: "Mapping[str, MemberStatus]") -> Table:
    """Return the progress of all members as a table."""
    table = _table("", ("member",), ("iteration", "messages sent", "kB sent", "repeated", ""))
    for name, status in members.items():
        shown = status.progress
        state = "done" if shown.get("done") else "stopped" if status.exit_status else ""
        if "primal" in shown:
            state = f"primal {shown['primal']:.1e}, dual {shown['dual']:.1e}"
        counts = (str(shown.get(column, "")) for column in ("sent", "sent_kb", "repeated"))
        table.add_row(name, str(shown.get("iteration", "starting")), *counts, state)
    return table


class _Progress:
    """The progress of a member: a live line on standard error, or JSON on standard output."""

    def __init__(self, start: str, as_json: bool) -> None:
        shown = PrintableConsole(stderr=True, quiet=True) if as_json else error_console
        self._as_json, self._status = as_json, shown.status(start)
        self._last_shown = time.monotonic()

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._status.stop()

    def _is_due(self) -> bool:
        """Whether it is time to show progress again."""
        now = time.monotonic()
        if now - self._last_shown <= _PROGRESS_SECONDS:
            return False
        self._last_shown = now
        return True

    def _show(self, values: dict[str, Any], text: str) -> None:
        if self._as_json:
            _print_line(values)
        else:
            self._status.update(text)


class PartyDisplay(_Progress):
    """The progress of a party."""

    def __init__(self, as_json: bool) -> None:
        """Show it as text, or as JSON."""
        super().__init__("starting, and waiting for the others …", as_json)
        self._counts: dict[str, Any] = {}
        self._times = [time.perf_counter()]

    def progress(self, iteration: int, counts: "Counts") -> None:
        """Show an iteration and the counts of messages."""
        self._times.append(time.perf_counter())
        if self._is_due():
            self._counts = {
                "sent": counts.sent,
                "sent_kb": round(counts.sent_bytes / 1000),
                "repeated": counts.repeated,
                "messages_per_iteration": counts.sent / iteration,
                "bytes_per_iteration": counts.sent_bytes / iteration,
            }
            self._show(
                {**self._counts, "iteration": iteration},
                f"iteration {iteration}, {counts.sent} messages sent",
            )

    def finish(self, iterations: int, released: Path) -> None:
        """Print the end of the run, and where the released loads are."""
        steps = np.diff(self._times)
        milliseconds = float(1000 * np.median(steps)) if len(steps) else 0.0
        if self._as_json:
            end = {"iteration": iterations, "median_ms": milliseconds, "done": True}
            _print_line({**self._counts, **end})
        else:
            console.print(
                f"{iterations} iterations, {milliseconds:.1f} ms each; released loads are in "
                f"{released}"
            )


class CoordinatorDisplay(_Progress):
    """The progress of the coordinator."""

    def __init__(self, as_json: bool) -> None:
        """Show it as text, or as JSON."""
        super().__init__("starting, and waiting for the parties …", as_json)

    def progress(self, iteration: int, primal: float, dual: float) -> None:
        """Show the residuals of an iteration."""
        if self._is_due():
            self._show(
                {"iteration": iteration, "primal": primal, "dual": dual},
                f"iteration {iteration}, primal {primal:.1e}, dual {dual:.1e}",
            )

    def finish(self, outcome: "Outcome") -> None:
        """Print the end of the run."""
        if self._as_json:
            _print_line({"iteration": outcome.iterations, "done": True})
        else:
            console.print(f"{outcome.status.lower()} after {outcome.iterations} iterations")


def _ownership_table(partition: "Partition") -> Table:
    table = _table("who owns what", ("party",), ("buses", "loads", "generators", "lines"))
    owned = (partition.buses, partition.loads, partition.generators, partition.lines)
    for party in partition.parties:
        table.add_row(party, *(str(owners.count(party)) for owners in owned))
    return table


def _traffic_table(links: "list[Traffic]") -> Table:
    columns = ("copies", "penalties", "consensus", "bytes")
    table = _table("who sends whom what, in every iteration", ("from", "to"), columns)
    for link in links:
        sizes = (link.copies, link.penalties, link.consensus, link.data_bytes)
        table.add_row(link.sender, link.receiver, *map(str, sizes))
    return table


def _table(title: str, names: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title or None)
    for heading in names:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _print_line(values: dict[str, Any]) -> None:
    print_json(values)
    sys.stdout.flush()
