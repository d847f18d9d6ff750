"""Texts from files, as they may be shown: without characters that control a terminal.

Escape sequences, line breaks, bidirectional overrides and whatever else is not printable become a
replacement character, so that no file can change what a reader sees of another text.
"""

import json

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str, keep: str = "") -> str:
    r"""Replace every character that is not printable, but for those to keep.

    Example:
        >>> printable("all\x1b[2J holds")
        'all�[2J holds'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else REPLACEMENT for one in text)


def printable_lines(text: str) -> str:
    """Replace every character that is not printable, but for line breaks and tabs."""
    return printable(text, keep="\n\t")


def excerpt(text: str, length: int) -> str:
    """Return a printable text of at most so many characters, with an ellipsis where it was cut."""
    return printable(text if len(text) <= length else text[: length - 1] + "…")


def escaped_json(text: str) -> str:
    r"""Escape every character of a JSON text that is not printable as \uXXXX: the same value."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)
