"""`gridveil partition`, `split`, `certs`, `party`, `coordinator`, `assemble` and `federate`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.text import Text

from gridveil import defaults
from gridveil.admm.policy import Policy
from gridveil.cli.federation_display import (
    CoordinatorDisplay,
    PartyDisplay,
    log,
    members_table,
    print_partition,
)
from gridveil.cli.grouped import grouped
from gridveil.cli.interruption import unhurried
from gridveil.cli.options import (
    AcceptMatchOption,
    AlphaOption,
    BetaOption,
    CaseArgument,
    CostsOption,
    CostsSourceOption,
    DeclarePublicOption,
    EpsilonOption,
    FloorOption,
    HideOption,
    LedgerOption,
    MechanismOption,
    NewRegisterOption,
    RegisterOption,
)
from gridveil.cli.output import console, error_console, print_json
from gridveil.network.library import load_case

certs = typer.Typer(
    help="Make a consortium's authority and its members' certificates.", no_args_is_help=True
)

ConfigOption = Annotated[Path, typer.Option(help="The member's configuration, a TOML file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, a line each.")]
PartiesOption = Annotated[
    int | None, typer.Option("--parties", help="Cut the network into this number of parts.")
]


@dataclass(frozen=True)
class PublicCostsOptions:
    """The public costs O*."""

    costs: CostsOption = None
    costs_source: CostsSourceOption = ""
    declare_public: DeclarePublicOption = None

    def choices(self) -> dict[str, Any]:
        """Return them as the functions of the same names take them."""
        return {**asdict(self), "declare_public": self.declare_public or ()}


@dataclass(frozen=True)
class RunOptions:
    """The settings of a run."""

    epsilon: EpsilonOption = defaults.EPSILON
    hide: HideOption = None
    floor: FloorOption = None
    alpha: AlphaOption = None
    beta: BetaOption = defaults.BETA
    mechanism: MechanismOption = None
    policy: Annotated[Policy, typer.Option(help="How penalties change.")] = Policy.FAST
    max_iterations: Annotated[int, typer.Option(min=1, help="At most.")] = defaults.MAX_ITERATIONS
    tolerance: Annotated[float, typer.Option(help="Of the residuals, in p.u.")] = defaults.TOLERANCE


def partition(
    case: CaseArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file to write.")],
    parties: PartiesOption = None,
    by: Annotated[
        str | None, typer.Option(help="Parties by this column of the bus table: area, zone.")
    ] = None,
) -> None:
    """Assign every component of a network to a party, and show which parties exchange messages.

    Edit the file as you like: each bus, load, generator and line has its row.

    Example: gridveil partition case39_epri --parties 5 -o parties.csv
    """
    from gridveil.federation.partition.ownership import partition, write_partition

    network = load_case(case)
    owned = partition(network, parties, by)
    write_partition(owned, network, output)
    print_partition(network, owned)


@grouped
def split(
    case: CaseArgument,
    parties: Annotated[Path, typer.Argument(help="The partition, a CSV file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to make.")],
    costs: PublicCostsOptions,
) -> None:
    """Write every party's slice of a network: the data it needs, and none of another party's.

    Slices hold true loads: each is for its party only.

    Example: gridveil split case39_epri parties.csv -o slices
    """
    from gridveil.federation.partition.ownership import read_partition
    from gridveil.federation.partition.splitting import split, write_slices

    network = load_case(case)
    owned = read_partition(parties, network)
    slices = split(network, owned, **costs.choices())
    write_slices(slices, output)
    print_partition(network, owned)
    digest = slices[0].costs_derived
    if digest:
        console.print(
            "the costs O* were computed from the raw loads and declared public; every member's "
            f'configuration must have costs_derived = "{digest}"',
            style="yellow",
        )


@certs.command()
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder, for the consortium's keeper only.")],
    consortium: Annotated[str, typer.Option(help="Name of the consortium.")] = "consortium",
    days: Annotated[float, typer.Option(help="How long it is valid.")] = 365,
) -> None:
    """Make the authority of a consortium. Whoever has its key can impersonate any member."""
    from gridveil.federation.transport.certs import init

    init(folder, consortium, days)
    console.print(f"the authority of {consortium} is in {folder}")


@certs.command()
def issue(
    authority: Annotated[Path, typer.Argument(help="The authority's folder.")],
    member: Annotated[str, typer.Argument(help="Name of the party, or 'coordinator'.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to put it into.")],
    host: Annotated[list[str], typer.Option(help="Where its peers reach it: IP or host name.")],
    days: Annotated[float, typer.Option(help="How long it is valid; there is no revocation.")] = 7,
) -> None:
    """Make a member's key and certificate, short-lived because none can be revoked."""
    from gridveil.federation.transport.certs import issue

    identity = issue(authority, member, output, host, days)
    console.print(f"key and certificate of {member} are in {identity.key.parent}")


def party(config: ConfigOption, as_json: JsonOption = False) -> None:
    """Run one party of a federation: its agents, its noise, its messages.

    A party that is started again after a crash resumes where it was, with the noise it had.
    """
    from gridveil.federation.deployment.config import PartyConfig, read_config
    from gridveil.federation.deployment.members import party

    settings = read_config(config, PartyConfig)
    with unhurried(), PartyDisplay(as_json) as display:
        contribution = party(settings, log=log, progress=display.progress)
    display.finish(contribution.iterations, settings.released)


def coordinator(config: ConfigOption, as_json: JsonOption = False) -> None:
    """Run the coordinator of a federation: it receives residuals, never a load or a flow."""
    from gridveil.federation.deployment.members import coordinator

    with unhurried(), CoordinatorDisplay(as_json) as display:
        outcome = coordinator(config, log=log, progress=display.progress)
    display.finish(outcome)


def assemble(
    case: CaseArgument,
    contributions: Annotated[list[Path], typer.Argument(help="What each party released.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to make.")],
    outcome: Annotated[
        Path | None, typer.Option(help="The coordinator's outcome, for the report.")
    ] = None,
    costs_source: Annotated[str, typer.Option(help="Where O* was published, if it was.")] = "",
) -> None:
    """Assemble what all parties released to one release, as anyone can: all of it is public.

    Example: gridveil assemble case39_epri north.released south.released -o out
    """
    from gridveil.federation.deployment.assembly import assemble

    release = assemble(case, contributions, outcome=outcome, costs_source=costs_source)
    release.save(output)
    console.print(Text.assemble(("released", "bold green"), f" to {output}"))
    console.print(f"check it with: gridveil verify {output}", style="dim")


@grouped
def federate(
    case: CaseArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to make.")],
    run: RunOptions,
    costs: PublicCostsOptions,
    parties: PartiesOption = None,
    partition: Annotated[
        Path | None, typer.Option("--partition", help="Or the partition, a CSV file.")
    ] = None,
    release_id: Annotated[
        str | None, typer.Option(help="Name of the draw; the same id never draws again.")
    ] = None,
    ledger: LedgerOption = None,
    register: RegisterOption = None,
    new_register: NewRegisterOption = None,
    accept_match: AcceptMatchOption = None,
    sign: Annotated[Path | None, typer.Option(help="Sign with this Ed25519 key (PEM).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a federated release on this machine: one process per party, mutual TLS between them.

    The same release as `gridveil release --method admm`, but no process receives another party's
    loads, costs or limits.

    Example: gridveil federate case39_epri --parties 5 --beta 0.01 -o out
    """
    from gridveil.federation.deployment.federate import federate
    from gridveil.publication.folder import check_writable

    check_writable(output)
    table = Live(console=error_console, transient=True, refresh_per_second=5)
    with unhurried(), table as live:
        release = federate(
            case,
            parties=parties,
            partition=partition,
            **asdict(run),
            **costs.choices(),
            release_id=release_id,
            ledger=ledger,
            register=register,
            new_register=new_register,
            accept_matches=accept_match or (),
            key=sign,
            log=log,
            watch=lambda members: live.update(members_table(members)),
        )
    release.save(output)
    certificate = release.certificate
    if as_json:
        print_json({"folder": str(output), **certificate.model_dump(mode="json")})
        return
    console.print(
        Text.assemble(
            ("released", "bold green"), f" to {output} (release id {certificate.release_id})"
        )
    )
    console.print(certificate.protection.promise)
    console.print(
        f"the last, central step moved the loads by {release.restored.displacement:.1e} p.u. in all"
    )
    console.print(f"check it with: gridveil verify {output}", style="dim")
