"""`gridveil partition`, `split`, `certs`, `party`, `coordinator`, `assemble` and `federate`."""

import hashlib
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from gridveil.admm.policy import Policy
from gridveil.cli.options import (
    AlphaOption,
    BetaOption,
    CaseArgument,
    CostsOption,
    CostsSourceOption,
    EpsilonOption,
    LedgerOption,
    MechanismOption,
)
from gridveil.cli.output import console, error_console, print_json
from gridveil.errors import GridveilError
from gridveil.network.library import load_case
from gridveil.network.network import Network
from gridveil.privacy.calibration import exact
from gridveil.privacy.ledger import default_path, network_id

if TYPE_CHECKING:
    from gridveil.federation.deployment.federate import Standing
    from gridveil.federation.partition.ownership import Partition
    from gridveil.federation.protocol.party import Party
    from gridveil.publication.costs import PublicCosts

certs = typer.Typer(help="Make a consortium's authority and its members' certificates.",
                    no_args_is_help=True)  # fmt: skip

ConfigOption = Annotated[Path, typer.Option(help="The member's configuration, a TOML file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, a line each.")]
PartiesOption = Annotated[
    int | None, typer.Option("--parties", help="Cut the network into so many parts.")
]
_PROGRESS_SECONDS = 0.2


def needs_zenoh() -> None:
    """Refuse to federate without the library for it."""
    try:
        import zenoh  # noqa: F401
    except ImportError:
        raise GridveilError(
            "a federation needs Zenoh; pip install 'gridveil[federation]'"
        ) from None


def partition(
    case: CaseArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file to write.")],
    parties: PartiesOption = None,
    by: Annotated[
        str | None, typer.Option(help="Parties by this column of the bus table: area, zone.")
    ] = None,
) -> None:
    """Assign every component of a network to a party, and show who talks to whom.

    Change the file as you like: each bus, load, generator and line has its row.

    Example: gridveil partition case39_epri --parties 5 -o parties.csv
    """
    from gridveil.federation.partition.ownership import (
        partition_by,
        partition_into,
        write_partition,
    )

    network = load_case(case)
    if (parties is None) == (by is None):
        raise GridveilError("say --parties N or --by COLUMN")
    if output.exists():
        raise GridveilError(f"{output} exists and is not overwritten; choose another file")
    if parties is not None:
        found = partition_into(network, parties)
    else:
        found = partition_by(network, by or "")
    write_partition(found, network, output)
    _print_partition(network, found)


def split(
    case: CaseArgument,
    parties: Annotated[Path, typer.Argument(help="The partition, a CSV file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to make.")],
    costs: CostsOption = None,
    costs_source: CostsSourceOption = "",
) -> None:
    """Write every party's slice of a network: all it needs, and nothing that is another's.

    Slices have true loads: each is for its party's eyes only.

    Example: gridveil split case39_epri parties.csv -o slices
    """
    from gridveil.federation.partition.ownership import read_partition
    from gridveil.federation.partition.slices import split as cut
    from gridveil.publication.folder import write_folder

    network = load_case(case)
    found = read_partition(parties, network)
    public = _costs(network, costs, costs_source)
    slices = cut(network, found, public.values, public.derived_digest())
    files = {f"{part.party}.json": part.model_dump_json(indent=1).encode() for part in slices}
    write_folder(output, files, private=True)
    _print_partition(network, found)
    if public.derived_digest():
        console.print(
            "the costs O* were computed from the raw loads and are not protected; everybody's run "
            f'must have costs_derived = "{public.derived_digest()}"',
            style="yellow",
        )


@certs.command()
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder, for the consortium's keeper only.")],
    consortium: Annotated[str, typer.Option(help="Name of the consortium.")] = "consortium",
    days: Annotated[float, typer.Option(help="How long it is valid.")] = 365,
) -> None:
    """Make the authority of a consortium. Whoever has its key can be anyone."""
    from gridveil.federation.transport.certificates import make_authority

    make_authority(folder, consortium, days)
    console.print(f"the authority of {escape(consortium)} is in {escape(str(folder))}")


@certs.command()
def issue(
    authority: Annotated[Path, typer.Argument(help="The authority's folder.")],
    member: Annotated[str, typer.Argument(help="Name of the party, or 'coordinator'.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to put it into.")],
    host: Annotated[list[str], typer.Option(help="Where its peers reach it: IP or host name.")],
    days: Annotated[float, typer.Option(help="How long it is valid; there is no revocation.")] = 7,
) -> None:
    """Make a member's key and certificate, short-lived because none can be revoked."""
    from gridveil.federation.transport.certificates import issue as make

    made = make(authority, output, member, host, days)
    console.print(f"key and certificate of {escape(member)} are in {made.key.parent}")


def party(config: ConfigOption, as_json: JsonOption = False) -> None:
    """Run one party of a federation: its agents, its noise, its messages.

    Started again after a crash it goes on where it was, with the noise it had.
    """
    needs_zenoh()
    from gridveil.federation.deployment.config import PartyConfig, read_config
    from gridveil.federation.deployment.federate import STANDARD_INPUT
    from gridveil.federation.deployment.members import run_party
    from gridveil.federation.partition.slices import parse_slice, read_slice

    settings = read_config(config, PartyConfig)
    signal.signal(signal.SIGTERM, _leave)
    if settings.slice.name == STANDARD_INPUT:
        part = parse_slice(sys.stdin.buffer.read(), "standard input")
    else:
        part = read_slice(settings.slice)
    last, ends = time.monotonic(), [time.perf_counter()]
    told: dict[str, Any] = {}

    def progress(iteration: int, running: "Party") -> None:
        nonlocal last, told
        ends.append(time.perf_counter())
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last, told = time.monotonic(), _counts(running, iteration)
            if as_json:
                _line({**told, "iteration": iteration})
            else:
                status.update(f"iteration {iteration}, {told['sent']} messages sent")

    with _status(as_json, "starting, and waiting for the others …") as status:
        result = run_party(settings, part, _tell, progress)
    pace = float(1000 * np.median(np.diff(ends))) if len(ends) > 1 else 0.0
    if as_json:
        _line({**told, "iteration": result.iterations, "median_ms": pace, "done": True})
    else:
        console.print(
            f"{result.iterations} iterations, {pace:.1f} ms each; released loads are in "
            f"{settings.released}"
        )


def coordinator(config: ConfigOption, as_json: JsonOption = False) -> None:
    """Run the coordinator of a federation: it sees residuals and sums, never a load or a flow."""
    needs_zenoh()
    from gridveil.federation.deployment.config import CoordinatorConfig, read_config
    from gridveil.federation.deployment.members import run_coordinator

    settings = read_config(config, CoordinatorConfig)
    signal.signal(signal.SIGTERM, _leave)
    last = time.monotonic()

    def progress(iteration: int, primal: float, dual: float) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            if as_json:
                _line({"iteration": iteration, "primal": primal, "dual": dual})
            else:
                status.update(f"iteration {iteration}, primal {primal:.1e}, dual {dual:.1e}")

    with _status(as_json, "starting, and waiting for the parties …") as status:
        outcome = run_coordinator(settings, _tell, progress)
    if as_json:
        _line({"iteration": outcome.iterations, "done": True})
    else:
        console.print(f"{outcome.status.lower()} after {outcome.iterations} iterations")


def assemble(
    case: CaseArgument,
    contributions: Annotated[list[Path], typer.Argument(help="What each party released.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to make.")],
    outcome: Annotated[
        Path | None, typer.Option(help="The coordinator's outcome, for the report.")
    ] = None,
    costs_source: Annotated[
        str, typer.Option(help="Where O* was published; without it, O* is from raw loads.")
    ] = "",
) -> None:
    """Put what all parties released together to one release, as anybody can: all of it is public.

    Example: gridveil assemble case39_epri north.released south.released -o out
    """
    from gridveil.federation.deployment.assembly import assemble as put_together
    from gridveil.federation.deployment.contribution import read_contribution
    from gridveil.federation.deployment.outcome import read_outcome
    from gridveil.publication.costs import DERIVED_SOURCE, Provenance

    found = [read_contribution(path) for path in contributions]
    buses = [load.bus for one in found for load in one.loads]
    try:
        network = load_case(case, buses)
    except GridveilError as error:
        raise GridveilError(f"{error}; is the contribution of a party missing?") from None
    if any(one.run.costs_derived for one in found) == bool(costs_source):
        raise GridveilError(
            "--costs-source: "
            + (
                "these costs were computed from raw loads, not published"
                if costs_source
                else "say where the costs O* of this run were published"
            )
        )
    residuals = None if outcome is None else read_outcome(outcome).residuals
    provenance = Provenance.PUBLISHED if costs_source else Provenance.DERIVED
    made = put_together(network, found, provenance, costs_source or DERIVED_SOURCE, residuals)
    made.save(output)
    console.print(f"[bold green]released[/] to {escape(str(output))}", highlight=False)
    console.print(f"check it with: gridveil verify {output}", style="dim", markup=False)


def federate(
    case: CaseArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to make.")],
    parties: PartiesOption = None,
    partition_file: Annotated[
        Path | None, typer.Option("--partition", help="Or the partition, a CSV file.")
    ] = None,
    epsilon: EpsilonOption = "1",
    alpha: AlphaOption = "0.1",
    beta: BetaOption = "0.01",
    mechanism: MechanismOption = "polar-laplace",
    policy: Annotated[Policy, typer.Option(help="How penalties change.")] = Policy.FAST,
    max_iterations: Annotated[int, typer.Option(min=1, help="At most.")] = 5000,
    tolerance: Annotated[float, typer.Option(help="Of the residuals, in p.u.")] = 1e-5,
    costs: CostsOption = None,
    costs_source: CostsSourceOption = "",
    release_id: Annotated[
        str | None, typer.Option(help="Name of the draw; the same id never draws again.")
    ] = None,
    ledger: LedgerOption = None,
    sign: Annotated[Path | None, typer.Option(help="Sign with this Ed25519 key (PEM).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Release a network among parties: a process each, on this machine, with all the security.

    The same release as `gridveil release --method admm`, but no process ever sees another party's
    loads, costs or limits.

    Example: gridveil federate case39_epri --parties 5 --beta 0.01 -o out
    """
    needs_zenoh()
    from gridveil.federation.deployment.federate import federate as run
    from gridveil.federation.partition.ownership import partition_into, read_partition
    from gridveil.federation.partition.slices import split as cut
    from gridveil.federation.protocol.settings import Run
    from gridveil.publication.folder import check_writable
    from gridveil.publication.signing import read_private_key

    if (parties is None) == (partition_file is None):
        raise GridveilError("say --parties N or --partition FILE")
    check_writable(output)
    key = None if sign is None else read_private_key(sign)
    network = load_case(case)
    found = (
        partition_into(network, parties)
        if parties is not None
        else read_partition(partition_file or Path(), network)
    )
    public = _costs(network, costs, costs_source)
    settings = Run(
        id=release_id or _default_id(network, found, epsilon, alpha, mechanism, public),
        parties=found.parties,
        mechanism=mechanism,
        epsilon=str(exact(epsilon, "epsilon")),
        alpha=str(exact(alpha, "alpha")),
        beta=float(exact(beta, "beta")),
        policy=policy,
        max_iterations=max_iterations,
        tolerance=tolerance,
        costs_derived=public.derived_digest(),
    )
    slices = cut(network, found, public.values, public.derived_digest())
    signal.signal(signal.SIGTERM, _leave)
    with Live(console=error_console, transient=True, refresh_per_second=5) as live:
        made = run(
            network,
            slices,
            settings,
            public,
            ledger or default_path(),
            key,
            _tell,
            lambda standing: live.update(_standing_table(standing)),
        )
    made.save(output)
    if as_json:
        print_json({"folder": str(output), **made.certificate.model_dump(mode="json")})
        return
    told = made.certificate
    console.print(
        f"[bold green]released[/] to {escape(str(output))} by {len(slices)} parties (release id "
        f"{escape(told.release_id)})",
        highlight=False,
    )
    console.print(told.protection.promise)
    console.print(
        f"the last, central step moved the loads by {made.restored.displacement:.1e} p.u. in all"
    )
    console.print(f"check it with: gridveil verify {output}", style="dim", markup=False)


def _costs(network: Network, path: Path | None, source: str) -> "PublicCosts":
    from gridveil.publication.costs import derived_costs, read_costs

    if path is None and source:
        raise GridveilError("--costs-source: means something with --costs only")
    return derived_costs(network) if path is None else read_costs(path, source, network)


def _default_id(
    network: Network,
    found: "Partition",
    epsilon: str,
    alpha: str,
    mechanism: str,
    costs: "PublicCosts",
) -> str:
    """Return the id of a release without one: the same parties and parameters draw once."""
    told = (
        f"{network_id(network)} {found} {exact(epsilon, 'epsilon')} {exact(alpha, 'alpha')} "
        f"{mechanism} {costs.provenance}"
    )
    return f"{network.name}-federated-{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def _print_partition(network: Network, found: "Partition") -> None:
    from gridveil.federation.partition.ownership import traffic

    table = Table(title="who owns what")
    for heading in ("party", "buses", "loads", "generators", "lines"):
        table.add_column(heading, justify="left" if heading == "party" else "right")
    for name in found.parties:
        owned = (found.buses, found.loads, found.generators, found.lines)
        table.add_row(name, *(str(owners.count(name)) for owners in owned))
    console.print(table)
    links = traffic(network, found)
    table = Table(title="who talks to whom, in every iteration")
    for heading in ("from", "to", "copies", "penalties", "answers", "bytes"):
        table.add_column(heading, justify="left" if heading in ("from", "to") else "right")
    for link in links:
        table.add_row(
            link.sender,
            link.receiver,
            *map(str, (link.copies, link.penalties, link.answers, link.data_bytes)),
        )
    console.print(table)
    alone = sorted(set(found.parties) - {link.sender for link in links})
    if alone:
        console.print(f"no neighbours: {', '.join(alone)}", style="yellow")


def _standing_table(standing: "Mapping[str, Standing]") -> Table:
    table = Table()
    for heading in ("member", "iteration", "messages sent", "kB sent", "repeated", ""):
        table.add_column(heading, justify="right" if heading != "member" else "left")
    for name, one in standing.items():
        told = one.told
        state = "done" if told.get("done") else "stopped" if one.exit_status else ""
        if "primal" in told:
            state = f"primal {told['primal']:.1e}, dual {told['dual']:.1e}"
        table.add_row(
            name,
            str(told.get("iteration", "starting")),
            *(str(told.get(column, "")) for column in ("sent", "sent_kb", "repeated")),
            state,
        )
    return table


def _counts(running: "Party", iteration: int) -> dict[str, Any]:
    counts = running.letters.counts
    return {
        "sent": counts.sent,
        "sent_kb": round(counts.sent_bytes / 1000),
        "repeated": counts.repeated,
        "messages_per_iteration": counts.sent / iteration,
        "bytes_per_iteration": counts.sent_bytes / iteration,
    }


def _status(silent: bool, text: str) -> Status:
    """Return a line that shows where a member stands, on a terminal and unless it is silent."""
    shown = Console(stderr=True, quiet=True) if silent else error_console
    return shown.status(text)


def _leave(number: int, frame: object) -> None:
    """End in order when asked to: nothing is left running or lying about."""
    del frame
    raise SystemExit(128 + number)


def _tell(text: str) -> None:
    error_console.print(text, markup=False, highlight=False, soft_wrap=True)


def _line(value: dict[str, Any]) -> None:
    print_json(value)
    sys.stdout.flush()
