"""The last look: planted leaks of many kinds are found, and untouched folders have none."""

import base64
import json
import re
import struct
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.network.components import LoadList
from gridveil.network.conversion import build_network
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.library import load_case
from gridveil.publication import case_file, make
from gridveil.publication.explained import explained
from gridveil.publication.plan import release
from gridveil.publication.scan.scan import Explained, Match, refuse_matches, scan
from gridveil.publication.scan.spelled_characters import spelled_out
from tests.cases import TINY, bus, line

ISOLATED = TINY.with_(
    bus=[*TINY.bus, bus(9, 4, 33.75, 12.25)],
    branch=[*TINY.branch, line(7, 9, status=0)],
)
"""The tiny network with a load at a bus out of service."""


class Made:
    """A network, its release, and what explains the numbers of the release."""

    def __init__(self, network, ledger):
        made = release(network, ledger, hide="10MVA")
        self.network, self.files = network, dict(made.files)
        known = explained(
            network, made, made.noisy, None, (made.certificate.to_bytes(),), LoadList.none()
        )
        self.explained = replace(known, grid_step=3e-4)
        self.noise = network.loads.values - self.explained.private
        self.displacement = network.loads.values - self.explained.released

    def with_text(self, file, text, at=None):
        """The files with a text in one, in front of the last `at` or at the end."""
        old = self.files.get(file, b"").decode()
        place = len(old) if at is None else old.rindex(at)
        return {**self.files, file: (old[:place] + text + old[place:]).encode()}

    def largest(self, differences, column):
        """The bus and the size of the largest of some differences, in p.u."""
        sizes = np.abs(differences[:, column])
        return self.network.load_buses[int(sizes.argmax())], float(sizes.max())

    def scan(self, files):
        return scan(files, self.network, self.explained)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Made(load_case("case14_ieee"), tmp_path_factory.mktemp("made") / "ledger.sqlite")


def mva(made, index):
    """P, Q and |S| of a load of case14_ieee in MW, MVAr and MVA."""
    p, q = made.network.loads.values[index] * 100
    return p, q, np.hypot(p, q)


BUS_3 = 1
"""The place of the load P + jQ = 94.2 + j19; that of bus 4 is 47.8 − j3.9."""


PLANTED = {
    "comment": lambda m: ("network.m", "\n% bus 3 once had 94.2 MW\n", None, "P of bus 3"),
    "exact digits": lambda m: ("network.m", "\n\t3\t94.20000\t0;\n", None, "P of bus 3"),
    "p.u. in JSON": lambda m: ("certificate.json", ' "x": 0.942,', '"files"', "P of bus 3"),
    "tooltip": lambda m: (
        "report.html",
        f'<circle cx="5" cy="6" r="2" data-tip="bus 3: {mva(m, BUS_3)[2]:.5f} MVA"/>',
        "</svg>",
        "|S| of bus 3",
    ),
    "rounded": lambda m: (
        "report.html",
        f"<p>moved by {m.largest(m.noise, 0)[1] * 100:.7f} MW</p>",
        "</main>",
        f"noise of P at bus {m.largest(m.noise, 0)[0]}",
    ),
    "kW": lambda m: ("notes.txt", "its demand is 94,200.0 kW", None, "P of bus 3"),
    "continental": lambda m: ("notes.txt", "sie hat 47,80 MW", None, "P of bus 4"),
    "total": lambda m: ("loads.csv", "total,259.0,73\n", None, "sum of P"),
    "sum of |S|": lambda m: (
        "loads.csv",
        f"total,{sum(mva(m, i)[2] for i in range(11)):.3f}\n",
        None,
        "sum of |S|",
    ),
    "exponent": lambda m: ("loads.csv", "3,9.420e+01,0\n", None, "P of bus 3"),
    "many digits": lambda m: ("loads.csv", "3,942.0000000000000000e-1,0\n", None, "P of bus 3"),
    "sign": lambda m: ("loads.csv", "3,-94.2,0\n", None, "P of bus 3"),
    "name": lambda m: ("certificate.json", ' "LOAD_94.2MW": 0,', '"files"', "P of bus 3"),
    "escaped": lambda m: ("certificate.json", r' "x": "\u221294.2",', '"files"', "P of bus 3"),
    "entity": lambda m: ("report.html", "<p>94&nbsp;200.0 kW</p>", "</main>", "P of bus 3"),
    "grid steps": lambda m: ("notes.txt", "k = (3140, 63)", None, "P of bus 3"),
    "noise": lambda m: (
        "certificate.json",
        f' "x": {m.largest(m.noise, 1)[1]:.6f},',
        '"files"',
        f"noise of Q at bus {m.largest(m.noise, 1)[0]}",
    ),
    "displacement": lambda m: (
        "loads.csv",
        f"bus,{m.largest(m.displacement, 0)[1] * 100:.7f}\n",
        None,
        f"displacement of P at bus {m.largest(m.displacement, 0)[0]}",
    ),
    "hexadecimal": lambda m: ("notes.txt", (94.2).hex(), None, "P of bus 3"),
    "bytes in hex": lambda m: ("notes.txt", struct.pack(">d", 94.2).hex(), None, "P of bus 3"),
    "base64": lambda m: (
        "notes.txt",
        base64.b64encode(np.array([1.0, 94.2]).tobytes()).decode(),
        None,
        "P of bus 3",
    ),
    "base64 of text": lambda m: (
        "notes.txt",
        base64.b64encode(b"bus 3: 94.2 MW").decode(),
        None,
        "P of bus 3",
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_leak_is_found(made, kind):
    file, text, at, what = PLANTED[kind](made)
    files = made.with_text(file, text, at)
    found = {match.name: match for match in made.scan(files)}  # noise may agree too, by chance
    match = found[f"{file}: {what}"]
    lines = files[file].decode().split("\n")
    place = sum(len(line) + 1 for line in lines[: match.line - 1]) + match.column - 1
    start = files[file].decode().index(text)
    assert start <= place < start + len(text)


SPELLINGS = {
    "entities": ("&#57;&#52;.237", "47&#46;813"),
    "entities without an end": ("&#x39&#x34;.237", "47&period;813"),
    "escapes": (r"\u0039\u0034.237", r"47\u002e813"),
    "pairs of escapes": (r"\ud835\udfd74.237", r"47.\uD835\uDFD613"),
    "full width": ("９４．２３７", "４７．８１３"),
    "arabic": ("٩٤٫٢٣٧", "۴۷٫۸۱۳"),
    "devanagari": ("९४.२३७", "४७.८१३"),
    "mathematical": ("𝟗𝟒.𝟐𝟑𝟕", "𝟜𝟟.𝟠𝟙𝟛"),
    "invisible": ("9\u200b4\u2060.\u00ad2\ufeff37", "4\u200d7.8\ufe0f13"),
    "invisible entities": ("9&#8203;4.&ZeroWidthSpace;237", "4&shy;7.813"),
    "exponent": ("0&#46;94237e&#50;", "4.7813\\u0065+1"),
    "capitals": ("0X1.78F2B020C49BAP+6", "0X1.7E810624DD2F2P+5"),
    "other mantissas": ("0x5e.3cac083126e98p0", "0x.bf4083126e979p6"),
    "separators": ("94&nbsp;237.0", "47\\u202f813.0"),
}
"""94.237 and 47.813, which are P of bus 3 and bus 4 in the test below."""


@pytest.mark.parametrize("kind", SPELLINGS)
@pytest.mark.parametrize("file", ["report.html", "notes.txt"])
def test_every_spelling_is_found_at_its_place(made, kind, file):
    p = made.network.loads.p.copy()
    p[[BUS_3, BUS_3 + 1]] = 0.94237, 0.47813
    network = made.network.with_loads(p, made.network.loads.q)
    one, other = SPELLINGS[kind]
    text = f"\n<p>&lt;é&#10;it {one}; then {other} MW</p>\n"
    files = made.with_text(file, text, "</main>" if file in made.files else None)
    line = files[file].decode().split(f"it {one}")[0].count("\n") + 1
    start = len("<p>&lt;é&#10;it ")
    found = [match for match in scan(files, network, made.explained) if match.file == file]
    assert found == [
        Match(file, line, start + 1, "P of bus 3"),
        Match(file, line, start + len(one) + len("; then ") + 1, "P of bus 4"),
    ]


def test_escaped_signs_hide_nothing(made):
    """No escape opens a script, a drawing, a string or a comment."""
    for hidden in (
        "&lt;script&gt; 94,2 &lt;/script&gt;",
        "&lt;path d=&quot;94.2&quot;",
        "94&#39;200.0 kW",
    ):
        files = made.with_text("report.html", f"<p>{hidden}</p>", "</main>")
        assert [match.what for match in made.scan(files)] == ["P of bus 3"]
    files = made.with_text("certificate.json", r' "x \u0022 94,2 y": 0,', '"files"')
    assert [match.what for match in made.scan(files)] == ["P of bus 3"]


def test_hexadecimal_numbers_beyond_all_are_none(made):
    assert made.scan({**made.files, "notes.txt": b"0x1p9999 0x0p0 0x1p-9999"}) == ()


pieces = st.sampled_from([*"0123456789.,%'\"<>&;#xu\\ e\n", "&#57;", r"\u0039", "９", "\u200b"])


@given(st.lists(pieces).map("".join))
def test_every_character_has_a_place(text):
    spelled, places = spelled_out(text)
    assert len(spelled) == len(places)
    assert (np.diff(places) >= 0).all()
    assert all(0 <= place < len(text) for place in places)
    plain = [i for i, place in enumerate(places) if (places == place).sum() == 1]
    assert all(
        spelled[i] == text[places[i]] for i in plain if text[places[i]] in "0123456789.,%'\"<>"
    )


def test_a_load_of_a_bus_out_of_service_is_found(tmp_path):
    made = Made(TINY.network(), tmp_path / "ledger.sqlite")
    network = build_network(parse_matpower(ISOLATED.text(), "tiny.m", "tiny"))
    files = made.with_text("network.m", "\n\t9\t4\t33.75\t12.25;\n")
    assert [match.name for match in scan(files, network, made.explained)] == [
        "network.m: P of bus 9",
        "network.m: Q of bus 9",
    ]


def keep_loads_when_blank(monkeypatch, raw):
    """Let the loads of buses out of service stay in the case file."""
    monkeypatch.setitem(case_file._BLANK, "bus", {"Vm": 1.0, "Va": 0.0})


def publish_a_raw_load(monkeypatch, raw):
    """Let a raw load stand in the place of a released one."""

    def wrong(network, p, q, point, idle, publish=make.publish):
        return publish(network, np.array([raw.loads.p[0], *p[1:]]), q, point, idle)

    monkeypatch.setattr(make, "publish", wrong)


def publish_a_load_as_dispatch(monkeypatch, raw):
    """Let a raw load stand in the place of an output."""

    def wrong(network, p, q, point, idle, publish=make.publish):
        outputs = np.array([raw.loads.p[1], *point.p[1:]])
        return publish(network, p, q, replace(point, p=outputs), idle)

    monkeypatch.setattr(make, "publish", wrong)


@pytest.mark.parametrize(
    ("mistake", "what"),
    [
        (keep_loads_when_blank, "P of bus 9"),
        (publish_a_raw_load, "P of bus 2"),
        (publish_a_load_as_dispatch, "P of bus 7"),
    ],
)
def test_a_mistake_in_making_files_does_not_explain_itself(mistake, what, tmp_path, monkeypatch):
    """Their numbers are compared with what was there before any file was made."""
    bad = [bus(1, 3), bus(2, 1, 80.317, 20.0), bus(7, 2, 50.623, 10.0), bus(9, 4, 33.751, 12.253)]
    raw = ISOLATED.with_(bus=bad).network()
    look = make.violations

    def none_found(network, point):
        found = look(network, point)
        return replace(found, **{field.name: 0.0 for field in fields(found)})

    mistake(monkeypatch, raw)
    monkeypatch.setattr(make, "violations", none_found)
    monkeypatch.setattr(make, "keeps_beta", lambda *_: True)
    with pytest.raises(GridveilError, match=rf"network\.m: {what} \(line"):
        release(raw, tmp_path / "ledger.sqlite", release_id="one", beta=0.2)


def test_sums_of_areas_and_zones_are_found(tmp_path):
    rows = [
        [*row[:6], area, *row[7:10], 3, *row[11:]]
        for row, area in zip(TINY.bus, (1, 2, 2), strict=True)
    ]
    rows += [bus(8, 1, 30.5, 5.5)]
    case = TINY.with_(bus=rows, branch=[*TINY.branch, line(7, 8)])
    made = Made(case.network(), tmp_path / "ledger.sqlite")
    size = np.hypot(80, 20) + np.hypot(50, 10)
    files = made.with_text("loads.csv", f"area,2,130.0,{size:.4f}\nall,160.5,0.355\n")
    assert [match.what for match in made.scan(files)] == [
        "sum of P in area 2",
        "sum of |S| in area 2",
        "sum of P",
        "sum of Q",
    ]


def test_binary_numbers_are_found(made):
    loads = made.network.loads.p * 100
    for kind in ("<f8", ">f8", "<f4", ">f4"):
        files = {**made.files, "state.bin": b"\x93\xff\n" + loads[1:2].astype(kind).tobytes()}
        assert Match("state.bin", 2, 1, "P of bus 3") in made.scan(files)


def test_blocks_of_base64_do_not_run_into_each_other(made):
    data = np.array([94.2]).tobytes()
    parts = (b"12345" + data[:4], data[4:] + b"12345")
    halves = [base64.b64encode(part).decode() for part in parts]
    assert made.scan({**made.files, "notes.txt": " ".join(halves).encode()}) == ()


def test_text_of_two_bytes_a_letter_is_read(made):
    files = {**made.files, "notes.txt": "bus 3: 94.2 MW".encode("utf-16")}
    assert [match.what for match in made.scan(files)] == ["P of bus 3"]


def test_names_of_files_are_read_and_not_repeated(made):
    (match,) = made.scan({**made.files, "bus_3_with_94.2MW.txt": b""})
    assert match == Match("bus_#_with_##.#MW.txt", 0, 12, "P of bus 3")
    assert str(match) == "bus_#_with_##.#MW.txt: P of bus 3 (in the file's name)"


def test_a_flow_explains_a_rounded_number_in_a_page_only(made):
    flow = np.array([94.2193])
    known = made.explained
    explained = Explained((*known.numbers, flow), known.texts, known.private, known.released)
    in_page = made.with_text("report.html", "<p>94.2 MVA</p>", "</main>")
    assert scan(in_page, made.network, explained) == ()
    in_data = made.with_text("network.m", "\n\t94.2\n")
    assert [match.what for match in scan(in_data, made.network, explained)] == ["P of bus 3"]


@pytest.mark.parametrize(
    "text",
    [
        "drawn at 2026-09-42T94:29:42.942+00:00",
        "scipy 94.2.0",
        "sha256 942a942b942c942d942e942f942a942b",
        "bus 94, 2 of 9",
        '<svg><path d="M94.2 19.0" stroke="red"/></svg>',
        "0.000 and 94 and 90,000",
    ],
    ids=["time", "version", "digest", "few digits", "drawing", "zeros"],
)
def test_what_is_no_number_is_not_compared(made, text):
    assert made.scan({**made.files, "notes.txt": text.encode()}) == ()


@pytest.mark.parametrize("name", ["case5_pjm", "case14_ieee", "case39_epri", "case118_ieee"])
def test_untouched_folders_have_no_match(name, tmp_path):
    for draw in range(2):
        made = Made(load_case(name), tmp_path / f"{draw}.sqlite")
        assert made.scan(made.files) == ()


FORMATS = {
    "repr": lambda mw: repr(mw),
    "fixed": lambda mw: f"{mw:.4f}",
    "sign": lambda mw: f"-{mw!r}",
    "exponent": lambda mw: f"{mw:.9e}",
    "upper": lambda mw: f"{mw:.9E}",
    "p.u.": lambda mw: f"{mw / 100:.8f}",
    "kW": lambda mw: f"{mw * 1000:,.1f}",
    "thin": lambda mw: f"{mw * 1000:,.1f}".replace(",", "\u202f"),
    "comma": lambda mw: f"{mw:.4f}".replace(".", ","),
    "name": lambda mw: f"LOAD_{mw:.4f}MW",
    "hexadecimal": lambda mw: mw.hex(),
}
PLACES = {  # a place for text, and how to put it there
    "network.m": (r"\n", "%  {} %\n"),
    "loads.csv": (r"\n", 'x,"{}",y\n'),
    "certificate.json": (r"\n(?= *\")", '"x {} y": 0,\n'),
    "report.html": (r"(?<=</td>)|(?<=</p>)", "<i title='{}'></i>"),
    "notes.txt": (r"^|$", " {} "),
}


@settings(max_examples=100)
@given(
    mw=st.integers(1000, 99_999_999).filter(lambda n: n % 10 > 0).map(lambda n: n / 10_000),
    load=st.integers(0, 10),
    form=st.sampled_from(sorted(FORMATS)),
    file=st.sampled_from(sorted(PLACES)),
    share=st.floats(0, 1),
)
def test_any_load_in_any_form_at_any_place_is_found(made, mw, load, form, file, share):
    p = made.network.loads.p.copy()
    p[load] = mw / 100
    network = made.network.with_loads(p, made.network.loads.q)
    text = made.files.get(file, b"").decode()
    where, how = PLACES[file]
    places = [match.end() for match in re.finditer(where, text)]
    at = places[int(share * (len(places) - 1))]
    planted = (text[:at] + how.format(FORMATS[form](mw)) + text[at:]).encode()
    values = np.concatenate([np.ravel(array) for array in made.explained.numbers])
    for scale, unit in ((1, 1e-4), (1000, 0.1), (0.01, 1e-8)):
        assume(np.abs(np.outer(np.abs(values), (1, 100)) - mw * scale).min() > unit)
    found = scan({**made.files, file: planted}, network, made.explained)
    assert any(match.file == file for match in found)


def test_a_refusal_says_where_and_never_what(made):
    files = made.with_text("network.m", "\n% 94.2\n% 47.8 MW\n")
    files["q_is_16.6"] = b""
    with pytest.raises(GridveilError) as caught:
        refuse_matches(files, made.network, made.explained)
    said = str(caught.value)
    assert "not written" in said
    assert "network.m: P of bus 3 (line " in said
    assert "network.m: P of bus 4 (line " in said
    assert "--accept-match 'network.m: P of bus 3'" in said
    assert "release id" in said
    shown = said + repr(made.scan(files)) + repr(made.explained)
    assert not re.search(r"94\D?2|47\D8|16\D6", shown)


def test_kept_text_is_left_out_where_it_stands_and_explains_nothing_elsewhere(made):
    """It was compared when it was declared, before the noise: it agrees with that by chance."""
    bus, noise = made.largest(made.noise, 0)
    kept = f"% {noise * 100:.6f}\n% 94.2 of 259.0 \u00fc\n"
    files = made.with_text("network.m", kept)
    names = {match.what for match in made.scan(files)}
    assert {f"noise of P at bus {bus}", "P of bus 3"} < names
    known = replace(made.explained, kept=kept)
    assert scan(files, made.network, known) == ()
    elsewhere = {**files, "notes.txt": kept.encode(), "network.m": files["network.m"] + b"%\n"}
    found = {(match.file, match.what) for match in scan(elsewhere, made.network, known)}
    assert {(file, what) for file in ("notes.txt", "network.m") for what in names} <= found


def test_ratings_are_left_out_where_they_stand_and_explain_nothing_elsewhere(made):
    ratings = json.dumps(json.dumps(["94.2", f"{made.largest(made.noise, 0)[1] * 100:.7f}"]))[1:-1]
    files = made.with_text("certificate.json", f' "ratings": "{ratings}",', '"files"')
    names = {match.what for match in made.scan(files)}
    assert len(names) > 1
    assert "P of bus 3" in names
    declared = replace(made.explained, ratings=ratings)
    assert scan(files, made.network, declared) == ()
    (match,) = scan({**files, "notes.txt": b"94.2"}, made.network, declared)
    assert match.name == "notes.txt: P of bus 3"


def test_bytes_that_are_no_text_have_their_place(made):
    added = b"% \xfc" + struct.pack("<d", 94.2) + b"\n"
    files = {**made.files, "network.m": made.files["network.m"] + added}
    line = made.files["network.m"].count(b"\n") + 1
    assert Match("network.m", line, 4, "P of bus 3") in made.scan(files)


def test_a_long_refusal_is_cut(made):
    files = {**made.files, "notes.txt": b"94.2 MW\n" * 15}
    with pytest.raises(GridveilError, match="and 5 more"):
        refuse_matches(files, made.network, made.explained)


def test_matches_are_accepted_by_name(made):
    files = made.with_text("network.m", "\n% 94.2\n% 47.8 MW\n")
    accepted = ["network.m: P of bus 3", "network.m: P of bus 4", "network.m: P of bus 77"]
    refuse_matches(files, made.network, made.explained, accepted)
    with pytest.raises(GridveilError, match="P of bus 4"):
        refuse_matches(files, made.network, made.explained, accepted[:1])


def test_matches_come_in_order(made):
    files = {**made.with_text("network.m", "\n% 94.2, 47.8\n"), "a.txt": b"47.8 11.2 94.2"}
    found = made.scan(files)
    assert list(found) == sorted(found)
    assert found == made.scan(dict(reversed(files.items())))
