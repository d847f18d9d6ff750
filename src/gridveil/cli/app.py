"""The subcommands of the `gridveil` command."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from gridveil.cli.audit import audit
from gridveil.cli.budget import budget
from gridveil.cli.cases import cases
from gridveil.cli.dataset import dataset
from gridveil.cli.export import export
from gridveil.cli.federation import (
    assemble,
    certs,
    coordinator,
    federate,
    partition,
    party,
    split,
)
from gridveil.cli.ledger import ledger
from gridveil.cli.plan import plan
from gridveil.cli.profiles import profiles
from gridveil.cli.release import release
from gridveil.cli.reproduce import reproduce
from gridveil.cli.simulate import simulate
from gridveil.cli.solve import solve
from gridveil.cli.sweep import results, sweep
from gridveil.cli.verify import verify
from gridveil.errors import GridveilError
from gridveil.printable import printable_lines


@contextmanager
def _printable_usage_errors() -> Iterator[None]:
    """Make printable what errors of the command line quote: arguments, and files of options."""
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)
        if isinstance(message, str) and not isinstance(error, GridveilError):
            error.message = printable_lines(message)  # type: ignore[attr-defined]
        raise


def _flags_without_values(parameters: list[Any]) -> list[Any]:
    """Let the help show flags as what they are: options without a value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _Command(TyperCommand):
    """A subcommand."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _flags_without_values(super().get_params(ctx))


class _Commands(TyperGroup):
    """The subcommands; what they say of wrong arguments is printable."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _flags_without_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _printable_usage_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _printable_usage_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    help="Release power-network loads under local differential privacy.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command()(release)
app.command()(plan)
app.command()(verify)
app.command()(export)
app.command()(solve)
app.command()(cases)
app.command()(profiles)
app.command()(dataset)
app.command()(simulate)
app.command()(sweep)
app.command()(results)
app.command()(reproduce)
app.command()(audit)
app.add_typer(ledger, name="ledger", cls=_Commands)
app.add_typer(budget, name="budget", cls=_Commands)
app.command()(federate)
app.command()(partition)
app.command()(split)
app.add_typer(certs, name="certs", cls=_Commands)
app.command()(party)
app.command()(coordinator)
app.command()(assemble)
for group in (app, ledger, budget, certs):
    for command in group.registered_commands:
        command.cls = _Command


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gridveil {version('gridveil')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Release power-network loads under local differential privacy."""
