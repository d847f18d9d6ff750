"""What a user's mistake raises: an error whose text says what went wrong, where, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gridveil.printable import excerpt

_LONGEST_PLACE = 100
_LONGEST_MESSAGE = 300


class GridveilError(Exception):
    """A mistake the user can mend. The command line prints its text and exits with status 2."""


class NotSolvedError(GridveilError):
    """A solve or a fidelity phase did not succeed. The command line exits with status 3."""


def raised_where(error: BaseException) -> str:
    """Say of which type an error is and where it was raised, not what it says.

    For errors of code that saw raw loads, which their texts may show.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = (
        "" if last is None else f" in line {last.tb_lineno} of {last.tb_frame.f_code.co_filename}"
    )
    return f"{type(error).__name__}{place}"


@contextmanager
def document_errors(where: Path | str) -> Iterator[None]:
    """Turn the first thing pydantic finds wrong in a document into an error that says where."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        first = found[0]
        place = excerpt(".".join(map(str, first["loc"])), _LONGEST_PLACE) or "the file"
        message = excerpt(first["msg"], _LONGEST_MESSAGE)
        raise GridveilError(f"{where}: {place}: {message}") from None
