"""`gridveil ledger`: what loads have spent, their caps, and whether the book can be believed."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gridveil.cli.exit_codes import CHECK_FAILED
from gridveil.cli.options import JsonOption, LedgerOption, NewRegisterOption, RegisterOption
from gridveil.cli.output import console, print_json
from gridveil.privacy.ledger.ledger import NEW
from gridveil.privacy.ledger.records import Account
from gridveil.privacy.metric import Metric
from gridveil.publication import ledger as books

ledger = typer.Typer(
    no_args_is_help=True, help="What loads have spent, their caps, and the book that says so."
)

OfRegisterOption = Annotated[str | None, typer.Option("--register", help="Of this register only.")]
NamedRegisterOption = Annotated[str, typer.Option("--register", help="The register of the loads.")]
LoadOption = Annotated[
    list[str] | None, typer.Option("--load", help="The key of a load; may be repeated.")
]
ReasonOption = Annotated[str, typer.Option(help="Why; it is kept in the ledger.")]


@ledger.command()
def show(
    register: OfRegisterOption = None, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Show what every load has spent and may still spend, and loads that have one owner."""
    with books.known_ledger(ledger) as book:
        accounts, groups = books.show(book, register), books.groups(book, register)
        if as_json:
            print_json(
                {
                    "ledger": book.identity,
                    "opened_at": book.opened_at,
                    "loads": [account.figures() for account in accounts],
                    "groups": [group.figures() for group in groups],
                }
            )
            return
        if not accounts:
            console.print(NEW)
            return
        console.print(accounts_table("what each load has spent, ε", accounts))
        if groups:
            console.print(accounts_table("loads that have one owner, together, ε", groups))
        console.print(f"ledger {book.identity}, opened at {book.opened_at}")


@ledger.command()
def history(
    register: OfRegisterOption = None, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """List the rows of the ledger, the oldest first: releases, caps, registers, groups."""
    events = books.history(ledger, register)
    if as_json:
        print_json(
            [
                {"row": e.row, "at": e.at, "what": e.kind, **e.content, "hash": e.head}
                for e in events
            ]
        )
        return
    table = Table("row", "at", "what", "content", "hash")
    for event in events:
        table.add_row(str(event.row), event.at, event.kind, event.said(), event.head[:12])
    console.print(table)


@ledger.command()
def cap(
    epsilon: Annotated[str, typer.Argument(help="The most that may be spent.")],
    register: OfRegisterOption = None,
    load: LoadOption = None,
    group: Annotated[str | None, typer.Option(help="Of this group of loads.")] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            help="Count budgets at this distance of two values: in MVA, as 10% for promises in "
            "per cent of a load, as 10MVAh for those about energy."
        ),
    ] = None,
    hours: Annotated[
        int | None, typer.Option(help="Count budgets within so many consecutive hours.")
    ] = None,
    metric: Annotated[
        Metric | None, typer.Option(help="For promises in this metric alone; else in all of them.")
    ] = None,
    reason: ReasonOption = "",
    ledger: LedgerOption = None,
) -> None:
    """Set the most that loads may spend: of all registers, of one, of loads or a group of it.

    Example: gridveil ledger cap 3 --register north --distance 10 --reason "policy of 2026"
    """
    books.cap(
        epsilon,
        register,
        load,
        group=group,
        distance=distance,
        hours=hours,
        metric=metric,
        reason=reason,
        ledger=ledger,
    )
    whose = "all registers without one of their own" if register is None else register
    of = f"group {group} of " if group else f"{', '.join(load)} of " if load else ""
    which = "promises of every kind" if metric is None else f"{metric.value} promises"
    console.print(f"cap of {of}{whose}: ε = {epsilon}, for {which}")


@ledger.command()
def group(
    name: Annotated[str, typer.Argument(help="The owner, or what the group is called.")],
    register: NamedRegisterOption,
    load: LoadOption = None,
    ledger: LedgerOption = None,
) -> None:
    """Say which loads have one owner: what they spend adds up. Without a load, dissolve the group.

    Example: gridveil ledger group smelter --register north --load "bus 3" --load "bus 4"
    """
    books.group(name, register, load or (), ledger)
    console.print(f"{name}: {len(load)} loads" if load else f"{name}: dissolved")


@ledger.command()
def register(
    case: Annotated[str, typer.Argument(help="A name from 'gridveil cases', or a case file.")],
    register: RegisterOption = None,
    new_register: NewRegisterOption = None,
    ledger: LedgerOption = None,
) -> None:
    """Give every load of a network an account, in service or not, before anything is released.

    Example: gridveil ledger register case14_ieee --new-register north
    """
    console.print(f"register: {books.register(case, register, new_register, ledger)}")


@ledger.command()
def add(
    load: Annotated[list[str], typer.Argument(help="Keys of loads.")],
    register: NamedRegisterOption,
    reason: Annotated[str, typer.Option(help="Why; it is kept in the ledger.")],
    ledger: LedgerOption = None,
) -> None:
    """Say that loads are new, so that nothing was ever spent on them."""
    books.add(load, register, reason, ledger)
    console.print(f"{len(load)} new loads in {register}")


@ledger.command()
def check(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Read the whole ledger, and see whether every row follows from those before it.

    Exit status: 0 nothing is wrong, 1 something is, 2 bad input.
    """
    found = books.check(ledger)
    if as_json:
        print_json(found.figures())
    else:
        for problem in found.problems:
            console.print(problem, style="bold red", soft_wrap=True)
        verdict = "nothing is wrong" if found.ok else "do not release from this ledger"
        console.print(
            f"{found.rows} rows, {found.releases} releases, head {found.head[:12]}: {verdict}",
            style="green" if found.ok else "bold red",
        )
    if not found.ok:
        raise typer.Exit(CHECK_FAILED)


@ledger.command()
def compare(
    certificate: Annotated[
        list[Path], typer.Argument(help="Certificates, or folders of releases.")
    ],
    ledger: LedgerOption = None,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Look at no ledger: compare the releases with each other."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the rows that releases name with the ledger, and with each other.

    It finds two releases that claim the same row, and rows that the ledger no longer has.

    Exit status: 0 nothing contradicts, 1 something does, 2 bad input.

    Example: gridveil ledger compare out another
    """
    rows = books.compare(certificate, ledger, alone=alone)
    if as_json:
        print_json([row.figures() for row in rows])
    else:
        table = Table("certificate", "release", "ledger", "row", "found")
        for row in rows:
            of = ("–", "–") if row.row is None else (row.row.ledger[:12], str(row.row.row))
            table.add_row(str(row.certificate), row.release_id, *of, row.state.value)
        console.print(table)
    if not all(row.state.ok for row in rows):
        raise typer.Exit(CHECK_FAILED)


@ledger.command()
def page(
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    ledger: LedgerOption = None,
) -> None:
    """Write a page with a bar for each load, and the history."""
    books.page(output, ledger)
    console.print(f"page: {output}")


@ledger.command()
def copy(
    target: Annotated[str, typer.Argument(metavar="FILE|ADDRESS", help="Where to.")],
    ledger: LedgerOption = None,
) -> None:
    """Copy the ledger to a new file or database. Go on with one of them only.

    Example: gridveil ledger copy postgresql://keeper@ledger.example.com/gridveil
    """
    books.copy(target, ledger)
    console.print("copied; go on with one of the two only, and keep the other as it is")


@ledger.command()
def grant(
    role: Annotated[str, typer.Argument(help="A role of the database.")],
    spend: Annotated[
        bool, typer.Option("--spend", help="Let it make releases too; it may look in any case.")
    ] = False,
    ledger: LedgerOption = None,
) -> None:
    """Let a role of the database look at what was spent, or spend. It can change no cap."""
    books.grant(role, spend, ledger)
    console.print(f"{role} may {'spend and look' if spend else 'look'}")


def accounts_table(title: str, accounts: list[Account]) -> Table:
    """Return budgets as a table."""
    table = Table("register", "load", title=title)
    for heading in ("spent", "cap", "left", "releases"):
        table.add_column(heading, justify="right")
    table.add_column("counted at")
    for account in accounts:
        figures = (account.spent, account.cap.epsilon, account.left)
        table.add_row(
            account.register,
            account.key,
            *(f"{float(value):g}" for value in figures),
            str(account.releases),
            account.cap.counted(account.metric),
        )
    return table
