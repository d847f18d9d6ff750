"""Whether a page does nothing but show itself: no script but our own, and nothing is loaded.

For pages of other versions, which cannot be made again to compare. Such a page is a sequence of
tags that our pages have, with attributes that they have, and ends with our script.
"""

import re
from typing import Final

from gridveil.publication.report.html import page_texts

_FORMER_SCRIPTS: Final[tuple[str, ...]] = ()
"""Scripts that pages of former versions have and that differ from that of today."""
_TAGS = frozenset(
    re.findall(
        r"\S+",
        "!doctype html head meta title style body main header section h1 h2 h3 p ul li b span code "
        "blockquote details summary div table thead tbody tr th td figure svg g line rect circle "
        "polyline text",
    )
)
_ATTRIBUTES = frozenset(
    re.findall(
        r"\S+",
        "lang charset name content class role tabindex scope aria-label aria-live viewBox data-tip "
        "x y x1 x2 y1 y2 cx cy r width height points",
    )
)
_TAG = re.compile(r"<(/?)([!a-zA-Z0-9]+)((?:\s+[a-zA-Z0-9:-]+(?:=\"[^\"<>]*\")?)*)\s*/?>")
_ATTRIBUTE = re.compile(r"([a-zA-Z0-9:-]+)(?:=\"[^\"]*\")?")
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="[^"<>]*">')
_STYLE = re.compile(r"<style>([^<]*)</style>")
_LOADING = re.compile(r"url|@|expression|\\", re.IGNORECASE)
_MEDIA = re.compile(r"@media\b")


def is_passive(page: bytes) -> bool:
    """Whether a page has no script but ours and loads nothing."""
    text = page.decode("utf-8", "replace")
    for script in (page_texts()[1], *_FORMER_SCRIPTS):
        end = f"<script>{script}</script></body></html>\n"
        if text.endswith(end):
            return _is_plain(_POLICY.sub("", text.removesuffix(end)))
    return False


def _is_plain(text: str) -> bool:
    """Whether a text has tags and attributes of our pages only, and styles that load nothing."""
    styles = _STYLE.findall(text)
    if any(_LOADING.search(_MEDIA.sub("", style)) for style in styles):
        return False
    position = 0
    while (start := text.find("<", position)) >= 0:
        tag = _TAG.match(text, start)
        if tag is None or tag[2].lower() not in _TAGS:
            return False
        names = [found[1] for found in _ATTRIBUTE.finditer(tag[3])]
        is_doctype = tag[2].lower() == "!doctype"
        if not is_doctype and any(name not in _ATTRIBUTES for name in names):
            return False
        position = tag.end()
    return True
