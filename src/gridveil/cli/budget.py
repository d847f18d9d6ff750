"""`gridveil budget`: what each load has spent, its cap, and why a release would be refused."""

from typing import Annotated

import typer

from gridveil import defaults
from gridveil.cli.exit_codes import CHECK_FAILED
from gridveil.cli.ledger import accounts_table
from gridveil.cli.options import AlphaOption, EpsilonOption, HideOption, JsonOption, LedgerOption
from gridveil.cli.output import console, print_json
from gridveil.cli.reading import PublicInjectionsOption, read_network
from gridveil.privacy import budget as accounts_of
from gridveil.privacy.ledger.ledger import default_place
from gridveil.privacy.ledger.postgresql import shown_place
from gridveil.privacy.ledger.records import Account, BudgetExceededError

budget = typer.Typer(
    help="Show what each load has spent of its privacy budget, set caps, explain refusals.",
    no_args_is_help=True,
)
BusOption = Annotated[list[int] | None, typer.Option("--bus", help="A bus number; repeatable.")]


@budget.command()
def show(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Show what every load has spent and may still spend."""
    path = ledger or default_place()
    accounts = accounts_of.show(path)
    if as_json:
        print_json([{**account.figures(), **_before(account)} for account in accounts])
        return
    nothing = f"nothing has been spent yet in {shown_place(str(path))}"
    console.print(accounts_table("privacy budget, ε", accounts) if accounts else nothing)


@budget.command()
def cap(
    epsilon: Annotated[str, typer.Argument(help="The most a load may spend in all.")],
    case: Annotated[str | None, typer.Option(help="Only for the loads of this case.")] = None,
    bus: BusOption = None,
    ledger: LedgerOption = None,
) -> None:
    """Set the cap of all loads, of a case's loads, or of single loads of a case."""
    accounts_of.cap(epsilon, case, bus, ledger)
    everyone = "all loads without a cap of their own" if case is None else f"the loads of {case}"
    console.print(f"cap of {f'bus {bus} of {case}' if bus else everyone}: ε = {epsilon}")


@budget.command()
def explain(
    case: Annotated[str, typer.Argument(help="The case a release would be made of.")],
    epsilon: EpsilonOption = defaults.EPSILON,
    hide: HideOption = None,
    alpha: AlphaOption = None,
    ledger: LedgerOption = None,
    public_injections: PublicInjectionsOption = "",
) -> None:
    """Say whether a release would be allowed and what it would cost; nothing is spent.

    Exit status: 0 allowed, 1 refused.
    """
    network = read_network(case, public_injections)
    try:
        charge = accounts_of.explain(network, epsilon, hide, alpha, ledger)
    except BudgetExceededError as error:
        console.print(f"refused: {error}", soft_wrap=True)
        raise typer.Exit(CHECK_FAILED) from None
    console.print(
        f"allowed: each of the {len(network.loads)} loads would be charged ε = {float(charge):g}"
    )


def _before(account: Account) -> dict[str, object]:
    """Return what version 0.2 called the register and the key of an account."""
    number = account.key.removeprefix("bus ")
    return {"label": account.register, "bus": int(number) if number.isdecimal() else None}
