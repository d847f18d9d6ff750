"""`gridveil dataset`: AC-OPF samples for learning, from a release."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from gridveil.cli.options import DeviceOption, JsonOption, SolverOption
from gridveil.cli.output import console, error_console, print_json
from gridveil.cli.sweep import WorkersOption


def dataset(
    output: Annotated[Path, typer.Argument(help="The folder of samples.")],
    source: Annotated[
        Path, typer.Option("--from", help="The folder of a release, of a series or single loads.")
    ],
    scenarios: Annotated[int, typer.Option(help="How many to draw.")],
    seed: Annotated[int, typer.Option(help="What the random numbers come from.")] = 1,
    common: Annotated[
        float, typer.Option(help="All loads of a scenario are scaled alike by 1 ± this.")
    ] = 0.1,
    own: Annotated[
        float, typer.Option(help="P and Q of each load are scaled besides by 1 ± this.")
    ] = 0.1,
    solver: SolverOption = None,
    device: DeviceOption = None,
    workers: WorkersOption = -1,
    as_json: JsonOption = False,
) -> None:
    """Make AC-OPF samples from a release: loads, dispatch, voltages, flows, costs and duals.

    They cost no privacy, as they follow from what was released and public random numbers. Started
    again after it was stopped, it goes on where it was.

    Exit status: 0 made, 2 bad input.

    Example: gridveil dataset samples --from out --scenarios 1000
    """
    from gridveil.experiments.dataset.make import dataset as make

    columns = ("scenarios", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console) as bar:
        task = bar.add_task("")
        made = make(
            output,
            source,
            scenarios,
            seed,
            common=common,
            own=own,
            solver=solver,
            device=device,
            workers=workers,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    if as_json:
        print_json({"folder": str(output), "scenarios": made.scenarios, "solved": made.solved})
        return
    console.print(f"samples: {output}", style="green", highlight=False)
    console.print(f"{made.solved} of {made.scenarios} scenarios have a solution", highlight=False)
    console.print("made from what was released alone: no budget was spent", style="dim")
