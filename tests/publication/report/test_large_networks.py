"""Pages of large networks: what matters in tables, and a few shapes that a browser shows."""

import hashlib
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from gridveil import Ledger, load_case, release, simulate_loads, verify
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.publication.folder import CERTIFICATE, LOADS, POSITIONS, REPORT
from gridveil.publication.page_data import read_positions
from gridveil.publication.report.detail import SHORT, WHOLE, Detail
from gridveil.publication.report.ledger_page import ledger_page
from gridveil.publication.report.merged_shapes import segments, squares, stairs
from gridveil.publication.report.page import report_page
from gridveil.publication.report.passive import is_passive
from gridveil.publication.report.private_page import private_page
from gridveil.publication.report.series_charts import small_profile
from gridveil.publication.scan.numbers_in_text import readings
from tests.publication.report.test_page import in_browser, needs_browser

FEW = Detail(rows=10, shapes=20)
"""As if a network of 118 buses were a large one."""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return Ledger(tmp_path_factory.mktemp("large") / "ledger.sqlite")


@pytest.fixture(scope="module")
def made(ledger):
    return release("case118_ieee", ledger, beta=0.05, release_id="one")


def page_of(made, detail):
    place = read_positions(made.files[POSITIONS], made.published.network)
    return report_page(made.certificate, made.published, place, None, detail).decode()


@pytest.fixture(scope="module")
def page(made):
    return page_of(made, FEW)


def rows_under(page, summary):
    """Return the cells of the table under a summary, and the note above it."""
    start = page.index(f"<summary>{summary}</summary>")
    end = page.index("</details>", start)
    element = ElementTree.fromstring(f"<details>{page[start:end]}</details>")
    rows = [[cell.text for cell in row] for row in element.find(".//tbody")]
    note = element.find("p")
    return rows, None if note is None else note.text


def chart(page, label):
    """Return a chart by how its label begins."""
    found = re.search(f'<svg [^>]*aria-label="{label}.*?</svg>', page, re.DOTALL)
    return ElementTree.fromstring(found[0])


def paths(drawing):
    return {path.get("class"): path.get("d") for path in drawing.iter("path")}


def test_a_network_below_the_sizes_has_the_same_page_as_ever(made):
    assert page_of(made, SHORT) == page_of(made, WHOLE) == made.files[REPORT].decode()
    assert "<path" not in page_of(made, SHORT)


def test_the_largest_loads_are_listed(made, page):
    rows, note = rows_under(page, "Loads as a table")
    lines = made.files[LOADS].decode().splitlines()
    heads, *loads = (line.split(",") for line in lines)
    bus, p, q = (heads.index(name) for name in ("bus", "p_mw", "q_mvar"))
    loads.sort(key=lambda row: -np.hypot(float(row[p]), float(row[q])))
    assert [row[0] for row in rows] == [row[bus] for row in loads[:10]]
    assert note == "The 10 largest loads. All loads stand in loads.csv."


def test_the_most_loaded_lines_are_listed(made, page):
    rows, note = rows_under(page, "Lines as a table")
    whole, no_note = rows_under(page_of(made, WHOLE), "Lines as a table")
    assert rows == whole[:10]
    shares = [float(row[-1].removesuffix("%")) for row in whole]
    assert shares == sorted(shares, reverse=True)
    assert note == "The 10 most loaded lines. All lines stand in network.m."
    assert no_note is None


def test_the_largest_generators_are_listed(made, page):
    rows, note = rows_under(page, "Generators as a table")
    largest = np.sort(made.published.point.p * made.published.network.base_mva)[::-1][:10]
    assert [float(row[-2].replace(",", "")) for row in rows] == pytest.approx(largest, abs=0.005)
    assert note == "The 10 largest by MW. All generators stand in network.m."


def test_every_line_and_bus_of_the_map_is_in_a_path(made, page):
    """Here no two buses share a place; of parallel lines of one colour, one is drawn."""
    whole, drawn = (chart(text, "The network as a graph") for text in (page_of(made, WHOLE), page))
    lines = {
        (line.get("class"), frozenset((line.get(f"x{i}"), line.get(f"y{i}")) for i in (1, 2)))
        for line in whole.iter("line")
    }
    circles = [circle.get("class") for circle in whole.iter("circle")]
    data = paths(drawn)
    for style in ("wire cool", "wire warm", "wire hot"):
        expected = sum(line[0] == style for line in lines)
        assert expected
        assert data[style].count("M") == expected
    for style in ("node", "node load"):
        assert data[style].count("M") == circles.count(style)
    assert list(data)[-1] == "wire hot"  # above all others


def test_merged_charts_have_a_name_and_no_tips(page):
    for label in ("The network as a graph", "Loading of every line"):
        drawing = chart(page, label)
        assert drawing.get("role") == "img"
        assert drawing.get("tabindex") is None
        assert not [shape for shape in drawing.iter() if shape.get("data-tip")]


def test_the_last_look_takes_no_coordinate_for_a_number(page):
    """Neither alone nor two together, as it would with a comma between."""
    text = re.search('<svg [^>]*aria-label="The network as a graph.*?</svg>', page, re.DOTALL)[0]
    assert re.search(r"M\d{3,4} \d{3,4}l", text)
    assert not len(readings(text, ".html").value)


def test_the_bars_end_where_the_lines_do(made, page):
    """The step of the first line over 95 % of its rating is blue."""
    whole = chart(page_of(made, WHOLE), "Loading of every line")
    bars = list(whole.iter("rect"))
    merged = paths(chart(page, "Loading of every line"))
    hot = [bar for bar in bars if bar.get("class") == "bar hot"]
    assert hot
    assert merged["bar hot"].startswith(f"M{float(bars[0].get('x')):.1f} ")
    begins = float(re.match(r"M([\d.]+) ", merged["bar"])[1])
    assert begins == pytest.approx(float(bars[len(hot)].get("x")), abs=0.06)
    tops = re.findall(r"V([\d.]+)H", merged["bar hot"] + merged["bar"])
    assert tops == [bar.get("y") for bar in bars]


def test_pages_of_large_networks_are_passive(page):
    assert is_passive(page.encode(), needs_policy=True)
    for added in ('<path onclick="1"/>', '<path style="x"/>', '<path d="M0 0" href="x"/>'):
        changed = page.replace("<main>", f"<main>{added}")
        assert not is_passive(changed.encode(), needs_policy=True)


def test_a_page_that_shows_everything_is_verified_too(made, tmp_path, monkeypatch):
    """As version 0.3.0 drew it, whatever the size; a page with other rows is found."""
    monkeypatch.setattr("gridveil.publication.verification.release_files.SHORT", FEW)
    for detail, holds in ((WHOLE, True), (FEW, True), (Detail(rows=9, shapes=20), False)):
        files = dict(made.files)
        files[REPORT] = page_of(made, detail).encode()
        listed = made.certificate.files | {REPORT: hashlib.sha256(files[REPORT]).hexdigest()}
        certificate = made.certificate.model_copy(update={"files": listed})
        files[CERTIFICATE] = certificate.sealed().to_bytes()
        folder = tmp_path / f"{detail.rows}"
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        claim = next(one for one in verify(folder).claims if one.name == REPORT)
        assert claim.ok == holds


def test_the_owners_page_is_cut_too(made):
    raw = load_case("case118_ieee")
    noisy = simulate_loads(raw, PolarLaplace.of(1, 0.1), seed=1)
    released = made.published.network
    whole, few = (
        private_page(raw, noisy, released, made.certificate, detail).decode()
        for detail in (WHOLE, FEW)
    )
    rows, note = rows_under(few, "Largest loads as a table, in MW and MVAr")
    size = np.hypot(raw.loads.p, raw.loads.q)
    assert float(rows[0][1]) == pytest.approx(raw.loads.p[size.argmax()] * raw.base_mva)
    assert len(rows) == 10
    assert note == "The 10 largest loads. All stand in loads.csv, as released."
    assert set(paths(chart(few, "Noisy and released P"))) == {"point orange", "point blue"}
    assert "<path" not in whole
    assert len(few) < len(whole) / 3


def test_the_page_of_a_ledger_lists_what_has_spent_most(made, ledger):
    page = ledger_page(ledger, FEW).decode()
    rows, note = rows_under(page, "Loads as a table")
    assert len(rows) == 10
    assert note == "The 10 that have spent most of their caps. All: gridveil ledger show."
    assert "All loads as a table" in ledger_page(ledger).decode()


def test_hostile_positions_stay_on_the_page():
    hostile = np.array([[np.nan, np.inf], [-np.inf, 1e300], [-5.0, 7.0]])
    expected = "M-1 6h2v2 h-2zM-1 4094h2v2 h-2z"
    assert squares(hostile, np.array([2.0, np.nan, 2.0])) == expected
    assert segments(hostile[:1], hostile[1:2]) == ""


def test_lines_between_the_same_places_are_drawn_once():
    start, end = (
        np.array([[1.0, 2.0], [8.0, 9.0], [3.0, 3.0]]),
        np.array([[8.2, 9.0], [1.0, 2.0], [3.4, 3.0]]),
    )
    assert segments(start, end) == "M1 2l7 7"


def test_nothing_makes_no_shape():
    nothing = np.zeros((0, 2))
    assert segments(nothing, nothing) == squares(nothing, np.zeros(0)) == ""
    assert stairs(np.array([0.0, 1.0]), np.array([3.0]), 9.0) == "M0.0 9.0V3.0H1.0V9.0z"


@needs_browser
def test_a_browser_draws_every_path(page, tmp_path):
    """It stops at the first error of a path: so each must be as large as its last shape says."""
    path = tmp_path / "large.html"
    path.write_text(page)
    dom, console = in_browser(
        path,
        tmp_path,
        """
        const sizes = [...document.querySelectorAll("path")].map((path) => {
          const ends = path.getPointAtLength(path.getTotalLength());
          return [path.getAttribute("class"), path.getTotalLength(), ends.x, ends.y];
        });
        const box = document.createElement("pre");
        box.id = "said"; box.textContent = JSON.stringify(sizes);
        document.body.append(box);
        """,
    )
    assert console == []
    drawn = json.loads(re.search(r'<pre id="said">(.*?)</pre>', dom, re.DOTALL).group(1))
    data = {**paths(chart(page, "The network as a graph")), **paths(chart(page, "Loading of"))}
    assert {name for name, *_ in drawn} == set(data)
    for name, length, *_ in drawn:
        if name.startswith("wire"):
            steps = re.findall(r"l(-?\d+) ?(-?\d+)", data[name])
            expected = sum(np.hypot(float(dx), float(dy)) for dx, dy in steps)
            assert length == pytest.approx(expected, rel=1e-3)
        if name.startswith("node"):
            sides = re.findall(r"h(\d+)v", data[name])
            assert length == pytest.approx(4 * sum(map(float, sides)), rel=1e-3)


def test_the_profile_of_a_load_is_short_and_keeps_its_peak():
    """A page has up to 300 of them: of a year, each gets some 4 kB."""
    year = np.sin(np.arange(8760.0) / 24) + 1
    year[5000] = 9.0
    text = small_profile("a load", year)
    assert len(text) < 5000
    points = re.search('points="([^"]*)"', text)[1].split()
    assert min(float(point.split(",")[1]) for point in points) == 4.0  # the top of the chart
