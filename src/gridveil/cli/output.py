"""Output of the commands: results to standard output, progress and errors to standard error.

Whatever is printed goes through here: texts may come from files, and no file may control the
terminal or add markup.
"""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from gridveil.opf.nonlinear_program import Iteration, Watch
from gridveil.printable import escaped_json, printable_lines


class PrintableConsole(Console):
    """A console that prints no character of a text that is not printable, but line breaks.

    Nor does a text become markup or emoji; styles are given as such.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text without such characters, before the widths of columns are measured."""
        return super().render_str(printable_lines(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render what is printed; control codes are those of the library alone."""
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else printable_lines(segment.text)
            yield Segment(shown, segment.style, segment.control)


console = PrintableConsole()
error_console = PrintableConsole(stderr=True)


def print_json(value: dict[str, Any] | list[Any]) -> None:
    """Print one JSON value, with what is not printable escaped."""
    print(escaped_json(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)))


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
    with error_console.status(Text(f"{what} …")) as status:

        def watch(iteration: Iteration) -> bool:
            status.update(
                Text(
                    f"{what}: iteration {iteration.number}, "
                    f"largest violation {iteration.infeasibility:.1e}"
                )
            )
            return True

        yield watch
