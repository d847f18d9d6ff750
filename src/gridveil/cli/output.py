"""Where the commands print: results to standard output, progress and errors to standard error."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from gridveil.opf.ipopt import Iteration, Watch

console = Console()
error_console = Console(stderr=True)


def print_json(value: dict[str, Any] | list[Any]) -> None:
    """Print one JSON value."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


@contextmanager
def solver_progress(what: str) -> Iterator[Watch]:
    """Show the solver's iterations while it runs, on a terminal only."""
    with error_console.status(f"{what} …") as status:

        def watch(iteration: Iteration) -> bool:
            status.update(
                f"{what}: iteration {iteration.number}, "
                f"largest violation {iteration.infeasibility:.1e}"
            )
            return True

        yield watch
