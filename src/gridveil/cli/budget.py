"""`gridveil budget`: what each load has spent, its cap, and why a release would be refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from gridveil.cli.output import console, print_json
from gridveil.errors import GridveilError
from gridveil.network.library import load_case
from gridveil.privacy.ledger import (
    BudgetExceededError,
    Ledger,
    default_path,
    network_id,
)
from gridveil.privacy.phase import owner_of, spending

REFUSED = 1

budget = typer.Typer(
    help="Show what each load has spent of its privacy budget, set caps, explain refusals.",
    no_args_is_help=True,
)
LedgerOption = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger file; GRIDVEIL_LEDGER or your data folder if none."),
]
BusOption = Annotated[list[int] | None, typer.Option("--bus", help="A bus number; repeatable.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@budget.command()
def show(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Show what every load has spent and may still spend."""
    path = ledger or default_path()
    accounts = Ledger(path).accounts() if path.exists() else []
    if as_json:
        print_json(
            [
                {
                    "network": account.network,
                    "label": account.label,
                    "bus": account.bus,
                    "spent": float(account.spent),
                    "cap": float(account.cap),
                    "left": float(account.left),
                    "releases": account.releases,
                }
                for account in accounts
            ]
        )
        return
    table = Table("network", "bus", title="privacy budget, ε")
    for heading in ("spent", "cap", "left", "releases"):
        table.add_column(heading, justify="right")
    for account in accounts:
        figures = (account.spent, account.cap, account.left)
        table.add_row(
            account.label,
            str(account.bus),
            *(f"{float(value):g}" for value in figures),
            str(account.releases),
        )
    console.print(table if accounts else f"nothing has been spent yet in {path}")


@budget.command()
def cap(
    epsilon: Annotated[str, typer.Argument(help="The most a load may spend in all.")],
    case: Annotated[str | None, typer.Option(help="Only for the loads of this case.")] = None,
    bus: BusOption = None,
    ledger: LedgerOption = None,
) -> None:
    """Set the cap of all loads, of a case's loads, or of single loads of a case."""
    network = None if case is None else load_case(case)
    if network is not None and bus:
        unknown = set(bus) - set(network.load_buses)
        if unknown:
            raise GridveilError(f"{case} has no load at bus {min(unknown)}")
    Ledger(ledger or default_path()).set_cap(
        epsilon, None if network is None else network_id(network), bus or None
    )
    everyone = "all loads without a cap of their own" if case is None else f"the loads of {case}"
    console.print(f"cap of {f'bus {bus} of {case}' if bus else everyone}: ε = {epsilon}")


@budget.command()
def explain(
    case: Annotated[str, typer.Argument(help="The case a release would be made of.")],
    epsilon: Annotated[str, typer.Option(help="Its ε.")] = "1",
    alpha: Annotated[str, typer.Option(help="Its α, in p.u.")] = "0.1",
    ledger: LedgerOption = None,
) -> None:
    """Say whether a release would be allowed and what it would cost; nothing is spent.

    Exit status: 0 allowed, 1 refused.
    """
    network = load_case(case)
    try:
        with existing_ledger(ledger or default_path()) as opened:
            charge = opened.check(spending(owner_of(network), epsilon, alpha))
    except BudgetExceededError as error:
        console.print(f"refused: {error}", soft_wrap=True)
        raise typer.Exit(REFUSED) from None
    console.print(
        f"allowed: each of the {len(network.loads)} loads would be charged ε = {float(charge):g}"
    )


@contextmanager
def existing_ledger(path: Path) -> Iterator[Ledger]:
    """Open a ledger to look at; where there is none, an empty one that leaves no trace."""
    with TemporaryDirectory() as folder:
        yield Ledger(path if path.exists() else Path(folder) / "empty.sqlite")
