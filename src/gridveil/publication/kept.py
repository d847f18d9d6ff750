"""What an owner wants published of the source file as it stands, beside the model of the network.

A published case is written anew from the model. Names, comments and further sections may hold
loads, so that each kind has to be asked for, and comes with a warning.
"""

from collections.abc import Collection, Iterator

from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.network.formats.matpower_parser import comments_of
from gridveil.publication.load_mentions import looks_like_loads
from gridveil.publication.statements import KEPT

NAMES, COMMENTS, SECTIONS = KEPT
"""Cell arrays, such as mpc.bus_name; comments; all other sections."""


def kept_kinds(keep: Collection[str] | str) -> tuple[str, ...]:
    """Return the kinds asked for in their usual order, or say which there are.

    Args:
        keep: The kinds, or a text that names them, separated by commas.
    """
    asked = [kind.strip() for kind in keep.split(",")] if isinstance(keep, str) else list(keep)
    unknown = sorted({kind for kind in asked if kind and kind not in KEPT})
    if unknown:
        raise GridveilError(f"--keep (keep in Python): {unknown[0]!r} is none of {', '.join(KEPT)}")
    return tuple(kind for kind in KEPT if kind in asked)


def kept_text(case: CaseFile, kinds: Collection[str]) -> str:
    """Return what is kept of a case file, as text behind its tables."""
    return "".join(text + "\n" for kind in kinds for text in _parts(case, kind))


def _parts(case: CaseFile, kind: str) -> Iterator[str]:
    if kind == COMMENTS:
        for comment in comments_of(case.text):  # others may end lines where our parser does not
            yield from (f"% {line}" for line in comment.splitlines())
        return
    for name, value in case.others.items():
        if value.startswith("{") == (kind == NAMES):
            yield f"mpc.{name} = {value};"


def kept_warnings(case: CaseFile, kinds: Collection[str]) -> tuple[str, ...]:
    """Return what of it looks as if it spoke of loads, a sentence for each kind.

    The form alone decides, so that a warning says nothing about a load either.
    """
    return tuple(filter(None, (_warning(case, kind) for kind in kinds)))


def _warning(case: CaseFile, kind: str) -> str:
    text = kept_text(case, [kind])
    if not text:
        return ""
    lines = f"{kind}: {len(text.splitlines())} lines of the source file are published as they stand"
    found = looks_like_loads(text)
    if not found:
        return f"{lines}; none speaks of loads, as far as its form tells"
    return f"{lines}; {len(found)} look as if they spoke of loads, such as {found[0].excerpt!r}"
