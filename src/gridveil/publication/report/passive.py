"""Whether a page does nothing but show itself: no script but our own, and nothing is loaded.

For pages of other versions, which cannot be made again to compare. Such a page has our head and our
end, character by character, with a style and a script that we know by their digests. In between
stand tags and attributes that our pages have there, and text.
"""

import codecs
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
_HEAD = re.compile(
    b'<!doctype html><html lang="en"><head><meta charset="utf-8">'
    b'(?:<meta http-equiv="Content-Security-Policy" content="(?P<policy>[^"<>]*)">)?'
    b'<meta name="viewport" content="width=device-width, initial-scale=1">'
    b"<title>[^<]*</title><style>(?P<style>[^<]*)</style></head><body><main>"
)
_MIDDLE, _END = b"</main><script>", b"</script></body></html>\n"
_TAGS = (
    "header|section|h1|h2|h3|p|a|ul|li|b|span|code|blockquote|details|summary|div|table|thead|tbody|"
    "tr|th|td|svg|line|rect|circle|polyline|path|text"
)
_ATTRIBUTES = (
    "id|class|role|tabindex|scope|aria-label|aria-live|viewBox|data-tip|x|y|x1|x2|y1|y2|cx|cy|r|"
    "width|height|points|d"
)
_BODY = re.compile(
    f'(?:[^<]++|<(?:{_TAGS})(?: (?:(?:{_ATTRIBUTES})="|href="#)[^"<>]*+")*+/?>|</(?:{_TAGS})>)*+'
    "".encode()
)
"""Text, and tags and attributes that our pages have; without ever going back in a hostile page."""
_CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
"""Characters that control something, as UTF-8, but for the line feed."""
_CHUNK = 1 << 20


def is_passive(page: bytes, needs_policy: bool) -> bool:
    """Whether a page has no style and no script but ours, and loads nothing.

    Args:
        page: The page.
        needs_policy: Whether it must have our content security policy, as pages have since 0.3.
    """
    head, end = _HEAD.match(page), page.rfind(_MIDDLE)
    if head is None or end < head.end() or not page.endswith(_END):
        return False
    if not _is_utf_8(page) or _CONTROL.search(page):
        return False
    style, script = head["style"].decode(), page[end + len(_MIDDLE) : -len(_END)].decode()
    todays_style, todays_script, _ = page_texts()
    if not (
        _is_known(style, todays_style, _FORMER_STYLES)
        and _is_known(script, todays_script, _FORMER_SCRIPTS)
    ):
        return False
    policy = head["policy"]
    has_policy = policy == content_policy(style, script).encode()
    if not has_policy and (needs_policy or policy is not None):
        return False
    return _BODY.fullmatch(page, head.end(), end) is not None


def _is_utf_8(data: bytes) -> bool:
    """Whether bytes are UTF-8, in little memory."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(data), _CHUNK):
            decode(data[start : start + _CHUNK])
        decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _is_known(text: str, todays: str, former: frozenset[str]) -> bool:
    return text == todays or hashlib.sha256(text.encode()).hexdigest() in former
