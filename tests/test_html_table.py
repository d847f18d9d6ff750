"""Small HTML tables."""

from gridveil.html_table import html_table


def test_every_text_is_escaped():
    table = html_table("<b>", ("a & b",), [("<script>",), (3,)])
    assert table == (
        "<table><caption>&lt;b&gt;</caption><thead><tr><th>a &amp; b</th></tr></thead>"
        "<tbody><tr><td>&lt;script&gt;</td></tr><tr><td>3</td></tr></tbody></table>"
    )


def test_without_headings_there_is_no_head():
    assert "thead" not in html_table("title", (), [("a", 1)])
