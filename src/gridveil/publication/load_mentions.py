"""Lines of a case file that look as if they spoke of loads, for an owner who wants to keep them.

The form alone decides: a number together with a word such as load, demand or MW. No raw load is
looked at, so the answer says nothing about any; and what it does not name may still be private.
"""

import re
from dataclasses import dataclass

_WORD = re.compile(
    r"(?<![a-z])(?:loads?|demands?|consum(?:e[sd]?|ers?|ption)|customers?|clients?"
    r"|[pq]_?d|[kmg](?:va|var|w)h?|[pq]_(?:mw|mvar))(?![a-z])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]+(?:[.,]?[0-9]+)*(?:[eE][-+]?[0-9]+)?")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_OPENS, _CLOSES = re.compile(r"[\[{]"), re.compile(r"[\]}]")
_LONGEST = 80


@dataclass(frozen=True)
class Mention:
    """A line that looks as if it spoke of loads."""

    line: int
    """From 1."""
    excerpt: str
    """Its beginning, with # for every number, whatever its length."""


def looks_like_loads(text: str) -> list[Mention]:
    """Return the lines with a number that speak of loads, or stand below a line that does.

    Below it are lines without words, and all of a section that the line opens with a bracket.
    """
    found, speaks, depth = [], False, 0
    for line, content in enumerate(text.splitlines(), 1):
        is_mention = _WORD.search(content) is not None
        if is_mention or depth > 0:
            depth = max(0, depth + len(_OPENS.findall(content)) - len(_CLOSES.findall(content)))
            speaks = True
        elif _LETTERS.search(content):
            speaks = False
        if speaks and _NUMBER.search(content):
            found.append(Mention(line, _excerpt(content)))
    return found


def _excerpt(content: str) -> str:
    masked = _NUMBER.sub("#", content).strip()[:_LONGEST]
    return "".join(c if c.isprintable() else " " for c in masked)
