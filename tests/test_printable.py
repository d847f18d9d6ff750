"""No character that controls a terminal is left in a text, and none that is printable is lost."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gridveil.printable import escaped_json, excerpt, printable, printable_lines

HOSTILE = "\x1b[2J\x07\x00\x7f\x9b\u202e\u2028\u200b\ud800\r"


def test_what_is_not_printable_is_replaced_one_by_one():
    assert printable(f"a{HOSTILE}b\n\tε …") == "a�[2J" + "�" * 9 + "b��ε …"
    assert printable_lines(f"a{HOSTILE}b\n\tε …") == "a�[2J" + "�" * 9 + "b\n\tε …"


@given(st.text())
def test_everything_is_printable_afterwards_and_what_was_is_the_same(text):
    assert printable(text).isprintable()
    assert printable_lines(text).replace("\n", "").replace("\t", "").isprintable()
    assert len(printable(text)) == len(text)
    assert printable(printable(text)) == printable(text)
    if text.isprintable():
        assert printable(text) == text


@given(st.text(), st.integers(1, 20))
def test_an_excerpt_is_short(text, length):
    assert len(excerpt(text, length)) <= length
    assert excerpt(text, length).isprintable()


@given(st.dictionaries(st.text(), st.text()))
def test_json_says_the_same_when_it_is_escaped(value):
    text = escaped_json(json.dumps(value, ensure_ascii=False))
    assert text.isprintable()
    assert json.loads(text) == value
