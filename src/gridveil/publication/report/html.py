"""The shell of a page, and its tables."""

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files

from gridveil.printable import printable


def html_page(title: str, body: str) -> bytes:
    """Return a whole page with its style and script inside.

    Its content security policy allows no other style and no other script, and no connection.
    """
    style, script, policy = page_texts()
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main>{body}</main><script>{script}</script></body></html>\n"
    )
    return page.encode("utf-8", "replace")


def escape(text: str) -> str:
    """Return a text as it can stand in a page, without a character that is not printable.

    Bidirectional overrides, for example, could change what is seen of the text around it.
    """
    return html.escape(printable(text))


def page_texts() -> tuple[str, str, str]:
    """Return the style, the script and the content security policy that every page has."""
    style, script = (
        files("gridveil.publication.report").joinpath(name).read_text(encoding="utf-8")
        for name in ("style.css", "script.js")
    )
    return style, script, content_policy(style, script)


def content_policy(style: str, script: str) -> str:
    """Return the content security policy of a page with this style and this script."""
    return (
        f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    """Return a text as a content security policy names it: by its hash."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def details(
    summary: str, heads: Sequence[str], rows: Iterable[Sequence[str]], note: str = ""
) -> str:
    """Return a table that opens on demand, under a note if there is one."""
    above = f"<p>{escape(note)}</p>" if note else ""
    return f"<details><summary>{escape(summary)}</summary>{above}{table(heads, rows)}</details>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells that hold a number stand to the right."""
    lines = list(rows)
    numeric = [bool(lines) and all(_is_number(row[i]) for row in lines) for i in range(len(heads))]
    kind = [' class="number"' if number else "" for number in numeric]
    head = "".join(f'<th scope="col"{k}>{escape(h)}</th>' for h, k in zip(heads, kind, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{k}>{escape(cell)}</td>" for cell, k in zip(row, kind, strict=True))
        + "</tr>"
        for row in lines
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return False
    return True
