"""A page of another version may look otherwise, but runs nothing and loads nothing."""

import re
from pathlib import Path

import pytest

from gridveil import release
from gridveil.publication.report.passive import is_passive

DATA = Path(__file__).parents[1] / "data"
FORMER = sorted(DATA.glob("*/*/report.html"))
POLICY = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
URL = "http://127.0.0.1/x"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("passive") / "ledger.sqlite"
    return release("case5_pjm", ledger, beta=0.05).files["report.html"].decode()


def test_our_pages_are_passive(page):
    assert is_passive(page.encode(), needs_policy=True)
    assert is_passive(page.encode(), needs_policy=False)


@pytest.mark.parametrize("path", FORMER, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_pages_of_former_versions_are_passive_though_they_have_no_policy(path):
    assert is_passive(path.read_bytes(), needs_policy=False)
    assert not is_passive(path.read_bytes(), needs_policy=True)


def test_another_text_is_passive(page):
    changed = page.replace("<main>", '<main><p class="whole">ε is another one.</p>')
    assert is_passive(changed.encode(), needs_policy=True)


@pytest.mark.parametrize(
    "added",
    [
        "<svg><script>1</script></svg>", "<SCRIPT>1</SCRIPT>", '<img src="x">', '<base href="x">',
        '<iframe src="x"></iframe>', '<form action="x"></form>', '<object data="x">', "<math>",
        '<a href="javascript:1">x</a>', '<link rel="stylesheet" href="x">', '<use href="x">',
        '<meta http-equiv="refresh" content="0;url=x">', '<meta charset="utf-7">',
        '<meta name="referrer" content="unsafe-url">', '<p onclick="1">', '<p/onclick="1">',
        '<p style="x">', "<p class='x'>", "<p class=x onclick=1>", '<p\x0conclick="1">',
        '<p\x1cclass="x">', '<p\u00a0class="x">', '<p\0onclick="1">', "<!-- x -->", "<?x ?>",
        "<svg><![CDATA[<p>]]></svg>", "<p", "</p onclick='1'>", "</main>", "<style>p{}</style>",
        '<style lang="x">p{}</style >', "<STYLE>p{}</STYLE>", '<!doctype html onload="1">', "\x1b",
        "\x85", "</body>",
    ],
)  # fmt: skip
def test_what_our_pages_do_not_have_is_found(page, added):
    assert not is_passive(page.replace("<main>", f"<main>{added}").encode(), needs_policy=True)
    without = POLICY.sub("", page).replace("<main>", f"<main>{added}")
    assert not is_passive(without.encode(), needs_policy=False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<style>", f'<style>main{{background:image-set("{URL}" 1x)}}'),
        ("<style>", f'<style>@import "{URL}";'),
        ("<style>", f'<style >@import url("{URL}");</style ><style>'),
        ("<style>", f'<style lang="x">@import url("{URL}");</style ><style>'),
        ("<style>", f"<STYLE>body{{background:url({URL})}}</STYLE><style>"),
        ("</style>", "</style >"),
        ("</style>", " </style>"),
        ("<script>", "<script> "),
        ('<meta charset="utf-8">', '<meta charset="iso-2022-jp">'),
        ('<meta charset="utf-8">', '<meta charset="utf-8"><meta charset="utf-7">'),
        ("<!doctype html>", '<!doctype html onload="1">'),
        ("<!doctype html>", "\ufeff<!doctype html>"),
        ("<body>", '<body onload="1">'),
        ("</title>", "</title><title></title>"),
    ],
)
def test_another_head_or_end_is_found(page, old, new):
    changed = page.replace(old, new, 1)
    assert changed != page
    for text in (changed, POLICY.sub("", changed)):
        assert not is_passive(text.encode(), needs_policy=False)


@pytest.mark.parametrize("policy", ["", "default-src *", "default-src 'none'; script-src *"])
def test_another_policy_is_found(page, policy):
    changed = POLICY.sub(f'<meta http-equiv="Content-Security-Policy" content="{policy}">', page)
    assert not is_passive(changed.encode(), needs_policy=False)
    assert not is_passive(POLICY.sub("", page).encode(), needs_policy=True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-7"])
def test_another_encoding_is_found(page, encoding):
    assert not is_passive(page.encode(encoding), needs_policy=False)


def test_bytes_that_are_not_utf_8_are_found(page):
    data = page.encode().replace(b"<main>", b"<main>\xff")
    assert not is_passive(data, needs_policy=False)


def test_a_script_hidden_by_another_charset_is_found(page):
    """In ISO-2022-JP, ESC $ B turns the quote that ends an attribute into half a character."""
    hidden = '<p class="\x1b$B">\x1b(B" tabindex=1 autofocus onfocus="alert(1)" z="</p>'
    text = page.replace('<meta charset="utf-8">', '<meta charset="iso-2022-jp">')
    assert not is_passive(text.replace("<main>", f"<main>{hidden}").encode(), needs_policy=False)
    assert not is_passive(page.replace("<main>", f"<main>{hidden}").encode(), needs_policy=False)
