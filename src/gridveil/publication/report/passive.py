"""Whether a page does nothing but show itself: no script but our own, and nothing is loaded.

For pages of other versions, which cannot be made again to compare. Such a page has our head and our
end, character by character, with a style and a script that we know by their digests. In between
stand tags and attributes that our pages have there, and text.
"""

import hashlib
import re
from typing import Final

from gridveil.publication.report.html import content_policy, page_texts

_FORMER_STYLES: Final = frozenset(
    {"b46f771ddf5f30fb2592168af80c9f7b746fe9eab5eeafed61b5e440e61d3376"}  # 0.1 and 0.2
)
"""SHA-256 of the styles of former versions that differ from that of today."""
_FORMER_SCRIPTS: Final[frozenset[str]] = frozenset()
"""SHA-256 of the scripts of former versions that differ from that of today."""
_PAGE = re.compile(
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '(?:<meta http-equiv="Content-Security-Policy" content="(?P<policy>[^"<>]*)">)?'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>[^<]*</title><style>(?P<style>[^<]*)</style></head><body><main>(?P<body>.*)</main>"
    "<script>(?P<script>.*)</script></body></html>\n",
    re.DOTALL,
)
_TAGS = frozenset(
    re.findall(
        "[a-z0-9]+",
        "header section h1 h2 p ul li b span code blockquote details summary div table thead tbody "
        "tr th td svg line rect circle polyline text",
    )
)
_ATTRIBUTES = frozenset(
    re.findall(
        r"\S+",
        "class role tabindex scope aria-label aria-live viewBox data-tip x y x1 x2 y1 y2 cx cy r "
        "width height points",
    )
)
_TAG = re.compile(r'<([a-z0-9]+)((?: [a-zA-Z0-9-]+="[^"<>]*")*)/?>|</([a-z0-9]+)>')
_ATTRIBUTE = re.compile(r' ([a-zA-Z0-9-]+)="[^"]*"')
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def is_passive(page: bytes, needs_policy: bool) -> bool:
    """Whether a page has no style and no script but ours, and loads nothing.

    Args:
        page: The page.
        needs_policy: Whether it must have our content security policy, as pages have since 0.3.
    """
    try:
        text = page.decode("utf-8")
    except UnicodeDecodeError:
        return False
    parts = _PAGE.fullmatch(text)
    if parts is None or _CONTROL.search(text):
        return False
    style, script, _ = page_texts()
    if not (
        _is_known(parts["style"], style, _FORMER_STYLES)
        and _is_known(parts["script"], script, _FORMER_SCRIPTS)
    ):
        return False
    wanted = content_policy(parts["style"], parts["script"])
    has_policy = parts["policy"] == wanted or (parts["policy"] is None and not needs_policy)
    return has_policy and _is_plain(parts["body"])


def _is_known(text: str, todays: str, former: frozenset[str]) -> bool:
    return text == todays or hashlib.sha256(text.encode()).hexdigest() in former


def _is_plain(body: str) -> bool:
    """Whether a text has tags and attributes only that our pages have."""
    position = 0
    while (start := body.find("<", position)) >= 0:
        tag = _TAG.match(body, start)
        if tag is None or (tag[1] or tag[3]) not in _TAGS:
            return False
        if any(found[1] not in _ATTRIBUTES for found in _ATTRIBUTE.finditer(tag[2] or "")):
            return False
        position = tag.end()
    return True
