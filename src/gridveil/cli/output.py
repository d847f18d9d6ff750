"""Output of the commands: results to standard output, progress and errors to standard error."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from gridveil.opf.ipopt import Iteration, Watch

console = Console()
error_console = Console(stderr=True)


def print_json(value: dict[str, Any] | list[Any]) -> None:
    """Print one JSON value."""
    print(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    """Return a value with null in place of every number that is not finite."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
