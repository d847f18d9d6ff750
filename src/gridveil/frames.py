"""Tables for notebooks: pandas frames, where pandas is installed, and small HTML tables."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from gridveil.errors import GridveilError

_SHOWN = 10
"""Rows of an HTML table before it is cut."""


def frame(rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]) -> Any:
    """Return rows, or columns by name, as a pandas DataFrame.

    Raises:
        GridveilError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise GridveilError("frames need pandas; pip install 'gridveil[notebook]'") from None
    return pandas.DataFrame(rows)


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a small table for a notebook; only the first rows of a long one."""
    lines = [[_cell(value) for value in row] for row in rows]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>" for line in lines[:_SHOWN]
    )
    cut = f"<p>… and {len(lines) - _SHOWN} more rows</p>" if len(lines) > _SHOWN else ""
    return (
        f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{cut}"
    )


def _cell(value: object) -> str:
    return escape(f"{value:g}" if isinstance(value, float) else str(value))
