"""Lines that look as if they spoke of loads are named, without any digit."""

from gridveil.network.library import find_case
from gridveil.publication.load_mentions import looks_like_loads


def lines(text):
    return [mention.line for mention in looks_like_loads(text)]


def test_notes_on_replaced_loads_are_named():
    text = find_case("case14_ieee__api").read_text(encoding="utf-8")
    notes = [i for i, line in enumerate(text.splitlines(), 1) if "Pd=" in line]
    mentions = looks_like_loads(text)
    assert len(notes) == 11
    assert set(notes) <= {mention.line for mention in mentions}
    assert not any(c.isdigit() for mention in mentions for c in mention.excerpt)
    assert any("Pd=#, Qd=-# -> Pd=#" in mention.excerpt for mention in mentions)


def test_notes_on_other_things_are_not():
    text = find_case("case14_ieee").read_text(encoding="utf-8")
    header = text[: text.index("function")]
    assert any(c.isdigit() for c in header)
    assert lines(header) == []


def test_a_word_and_a_number_make_a_mention():
    assert lines("% demand 94.2\n% Customer A: 3\n% peak 12MW\n% P_d = 4\n% 3 kVAr") == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert lines("% the load\n% of\n% 3 buses, downloaded 1993, Pd\n% reload 3, amwell 4") == [3]


def test_sections_and_columns_below_a_mention_belong_to_it():
    assert lines("mpc.load = [\n1 94.2;\n];\nmpc.x = [\n1 2;\n];") == [2]
    assert lines("mpc.customers = {\n'Mill' 94.2;\n'Mine' 1;\n};\nmpc.x = 3;") == [2, 3]
    assert lines("% loads by bus:\n% 3: 94.2\n% 9: 29.5\n% lines:\n% 3: 1") == [2, 3]


def test_the_length_of_a_number_does_not_show():
    assert (
        len({looks_like_loads(f"% load {x} MW")[0].excerpt for x in ("9.2", "94.2", "1e-12")}) == 1
    )


def test_excerpts_are_short_and_printable():
    (mention,) = looks_like_loads("% load 3 \x1b[31m" + "x" * 200)
    assert mention.excerpt.isprintable()
    assert len(mention.excerpt) <= 80
