"""The report: self-contained, readable without a mouse, and opened in a real browser."""

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from gridveil import AgentOptions, Ledger, PolarLaplace, load_case, release
from tests.cases import TINY

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    made = release(
        load_case("case39_epri"),
        Ledger(folder / "ledger.sqlite"),
        mechanism=PolarLaplace.of(1, 0.1),
        beta=0.01,
        release_id="one",
        method="admm",
        agents=AgentOptions(polish=True, tolerance=1e-3),
    )
    made.save(folder / "out")
    return folder / "out" / "report.html"


class _Checker(HTMLParser):
    """Counts what matters, and checks that tags are closed in order."""

    VOID = frozenset({"meta", "rect", "line", "circle", "polyline"})

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.charts, self.references = [], {}, [], []

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        given = dict(attributes)
        self.references += [given[name] for name in ("src", "href") if name in given]
        if tag == "svg":
            self.charts.append(given)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_no_network(page):
    text = page.read_text(encoding="utf-8")
    checker = _Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.references == []
    assert "http" not in text.replace("http-equiv", "")
    assert "@import" not in text
    assert checker.counts["h1"] == 1
    assert '<html lang="en">' in text


def test_every_figure_is_also_a_table_and_has_a_name(page):
    checker = _Checker()
    checker.feed(page.read_text(encoding="utf-8"))
    assert len(checker.charts) == 6
    for chart in checker.charts:
        assert chart["aria-label"]
        assert chart["tabindex"] == "0"
    text = page.read_text(encoding="utf-8")
    for summary in ("Generators", "Loads", "Lines", "Iterations"):
        assert f"<summary>{summary} as a table</summary>" in text
    assert text.count('<th scope="col"') > 10


def test_the_promise_is_told_and_no_more(page):
    text = page.read_text(encoding="utf-8")
    assert "changes the odds" in text
    assert "Private as a whole" in text
    assert "protected like the loads" in text
    assert "The estimate is approximate" in text
    assert "have to be believed" in text
    assert not re.search("anonym|cannot be detected|untraceable", text, re.IGNORECASE)


def in_browser(page, tmp_path, script):
    """Return the page's text after a script ran in it, and what the console said.

    The page's own policy allows no other script, so that this one is added to it.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = page.read_text(encoding="utf-8")
    return browsed(text.replace("script-src ", f"script-src 'sha256-{digest}' "), tmp_path, script)


def browsed(text, tmp_path, script):
    """Return what a page becomes with a script added, and what the console said."""
    copy = tmp_path / "copy.html"
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=2000", "--dump-dom", copy.as_uri(),
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, timeout=120, check=True, text=True)
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


@needs_browser
def test_the_policy_of_the_page_lets_no_other_script_run(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    script = "document.title = 'another script ran'"
    dom, console = browsed(text, tmp_path, script)
    assert "another script ran</title>" not in dom
    assert any("Content Security Policy" in line for line in console)
    dom, _ = in_browser(page, tmp_path, script)
    assert "another script ran</title>" in dom  # so that this test can fail


@needs_browser
def test_charts_are_read_by_keyboard_and_pointer(page, tmp_path):
    dom, console = in_browser(
        page,
        tmp_path,
        """
        const key = (chart, name) =>
          chart.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
        const said = [];
        for (const chart of document.querySelectorAll("svg")) {
          key(chart, "ArrowRight"); key(chart, "ArrowRight");
          said.push(chart.nextElementSibling.textContent);
          key(chart, "End"); said.push(chart.nextElementSibling.textContent);
          const shape = chart.querySelector("[data-tip]");
          shape.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
          said.push(chart.nextElementSibling.textContent);
        }
        const box = document.createElement("pre");
        box.id = "said"; box.textContent = said.join("\\n");
        document.body.append(box);
        """,
    )
    assert console == []
    said = re.search(r'<pre id="said">(.*?)</pre>', dom, re.DOTALL).group(1).splitlines()
    assert len(said) == 18
    assert not [line for line in said if line.startswith("Point at")]
    assert "against O*" in said[0]
    assert "voltage" in said[4]
    assert re.match(r"iteration \d+: primal [\d.e-]+, dual", said[9])


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_both_colour_schemes_have_contrast(page, tmp_path, dark):
    """Text against its background, as the browser computes them: at least 4.5 to 1 (WCAG AA)."""
    forced = "dark" if dark else "light"
    without_policy = re.sub(
        '<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8")
    )
    source = without_policy.replace("(prefers-color-scheme: dark)", "all" if dark else "not all")
    copy = tmp_path / f"{forced}.html"
    copy.write_text(source)
    dom, _ = in_browser(
        copy,
        tmp_path,
        """
        const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = (rgb) => {
          const [r, g, b] = rgb.map((v) => v / 255)
            .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const card = parse(getComputedStyle(document.querySelector("section")).backgroundColor);
        const ratios = [];
        for (const what of ["h2", "p", ".kicker", "summary", ".readout", "td", "svg text"]) {
          const style = getComputedStyle(document.querySelector("main " + what));
          const ink = parse(what === "svg text" ? style.fill : style.color);
          const [a, b] = [light(ink), light(card)].sort((x, y) => y - x);
          ratios.push((a + 0.05) / (b + 0.05));
        }
        const box = document.createElement("pre");
        box.id = "said"; box.textContent = ratios.join(" ");
        document.body.append(box);
        """,
    )
    ratios = re.search(r'<pre id="said">(.*?)</pre>', dom, re.DOTALL).group(1).split()
    assert len(ratios) == 7
    assert min(map(float, ratios)) >= 4.5


def test_awkward_networks_have_a_report(tmp_path):
    """Lines without ratings, and a central solution without a history."""
    network = TINY.with_cell("branch", 0, 5, 0.0).network()
    ledger = Ledger(tmp_path / "ledger.sqlite")
    made = release(network, ledger, mechanism=PolarLaplace.of(1, 0.01), beta=0.05, release_id="one")
    text = made.files["report.html"].decode()
    assert "No line" in text
    assert "solved by the method bilevel. No history of agents" in text
