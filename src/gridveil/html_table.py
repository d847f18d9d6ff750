"""Small HTML tables, which notebooks show in place of a repr."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML, every text in it escaped.

    Args:
        title: The line above the table.
        headings: The heading of each column; none at all leaves the heading out.
        rows: The cells, shown as `str` shows them.
    """
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{_cells('th', headings)}</tr></thead>" if headings else ""
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values)
