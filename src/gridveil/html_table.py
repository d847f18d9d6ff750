"""Small HTML tables, which notebooks show in place of a repr."""

from collections.abc import Iterable, Sequence
from html import escape

_MOST_ROWS = 40


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML, every text in it escaped.

    Args:
        title: The line above the table.
        headings: The heading of each column; none at all leaves the heading out.
        rows: The cells; floats in short, all else as `str` shows it. Of many rows the first.
    """
    lines = list(rows)
    body = "".join(f"<tr>{_cells('td', line)}</tr>" for line in lines[:_MOST_ROWS])
    if len(lines) > _MOST_ROWS:
        body += f"<tr>{_cells('td', [f'… and {len(lines) - _MOST_ROWS} more rows'])}</tr>"
    head = f"<thead><tr>{_cells('th', headings)}</tr></thead>" if headings else ""
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f"<{tag}>{escape(_text(value))}</{tag}>" for value in values)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
