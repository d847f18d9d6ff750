"""What a user's mistake raises: an error whose text says what went wrong, where, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class GridveilError(Exception):
    """A mistake the user can mend. The command line prints its text and exits with status 2."""


@contextmanager
def document_errors(where: Path | str) -> Iterator[None]:
    """Turn the first thing pydantic finds wrong in a document into an error that says where."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise GridveilError(f"{where}: {place}: {first['msg']}") from None
