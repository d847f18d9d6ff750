"""A certificate of any content is read, or refused with a sentence."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import read_certificate

MADE = Path(__file__).parent / "data" / "version-1" / "release" / "certificate.json"
VERSION_1 = MADE.read_bytes()
VERSION_2 = read_certificate(VERSION_1).certificate.sealed().to_bytes()
NUMBERS = ("1e999", "-1e999", "NaN", "Infinity", "5e-324", "1e308", "-0.0", "9" * 5000, "9" * 4000)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def refusal(data):
    """What is said about data, if they are refused; whatever else is raised fails the test."""
    try:
        read_certificate(data)
        text = ""
    except GridveilError as error:
        text = str(error)
    assert len(text) < 500
    assert text.isprintable()
    return text


def places(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else ()
    children = enumerate(value[:2]) if isinstance(value, list) else children
    for key, item in children:
        yield from places(item, (*path, key))


def replaced(content, path, value):
    if not path:
        return value
    copy = content.copy()
    copy[path[0]] = replaced(content[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("made", [VERSION_1, VERSION_2])
@pytest.mark.parametrize("number", NUMBERS)
def test_extreme_numbers_anywhere_are_no_failure(made, number):
    content = json.loads(made)
    for path in places(content):
        text = json.dumps(replaced(content, path, "HERE"), indent=2)
        refusal((text.replace('"HERE"', number) + "\n").encode())


@settings(max_examples=300)
@given(st.data())
@pytest.mark.parametrize("made", [VERSION_1, VERSION_2])
def test_any_value_anywhere_is_no_failure(made, data):
    content = json.loads(made)
    path = data.draw(st.sampled_from(list(places(content))))
    changed = replaced(content, path, data.draw(json_values))
    refusal(json.dumps(changed).encode())
    try:
        document = Certificate.model_validate(changed)
    except ValueError:
        return
    assert not refusal(document.sealed().to_bytes())


@given(st.binary(max_size=50))
def test_any_bytes_are_no_failure(data):
    assert refusal(data)


def with_field(name):
    return VERSION_2.replace(b'"base_mva"', b'"' + name + b'": 1,\n  "base_mva"')


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[" * 10**6, "recursion"),
        (b'{"a":' * 10**6, "recursion"),
        (VERSION_2.replace(b'"release_id": "', b'"release_id": "\\ud800'), "Invalid JSON"),
        (VERSION_2.replace(b'"release_id": "', b'"release_id": "\xed\xa0\x80'), "Invalid JSON"),
        (VERSION_2.replace(b'"base_mva"', b'"base_mva": 1.0,\n  "base_mva"'), "was added"),
        (b"\xef\xbb\xbf" + VERSION_2, "Invalid JSON"),
        (VERSION_2.decode().encode("utf-16"), "Invalid JSON"),
        (b'{"version": ' + b"9" * 4200 + b"}", "a newer Gridveil"),
        (with_field(b"x" * 10**6), "…: Extra inputs"),
        (with_field(b"\\u001b[2J\\u202e"), "�[2J�: Extra inputs"),
    ],
)
def test_what_is_said_is_short_and_printable(data, says):
    assert says in refusal(data)
