"""Who may import whom: the order docs/folders.md states, no cycles, an independent verifier."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "gridveil"
ORDER = re.compile(r"^```order\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENTRY_POINTS = {"gridveil", "gridveil.__main__"}
"""Modules above all packages: nothing may import them."""
VERIFIER = ("gridveil.publication.verification",)
REDRAWN = "gridveil.publication.report"
"""The page of a release, which the verifier makes again to compare it byte by byte."""
PRODUCER = (
    "gridveil.publication.make",
    "gridveil.publication.plan",
    "gridveil.publication.case_file",
    "gridveil.fidelity.result",
    "gridveil.fidelity.phase",
    "gridveil.opf.operating_point",
)
"""What makes a release and its figures; the verifier has formulas of its own."""


def stated_orders():
    """The orders of the folder page: of the packages, then of the parts of single packages."""
    text = (ROOT / "docs" / "folders.md").read_text(encoding="utf-8")
    lines = [line for block in ORDER.findall(text) for line in block.splitlines() if line.strip()]
    return [
        ["gridveil" + (f".{name.strip()}" if name.strip() else "") for name in line.split("<")]
        for line in lines
    ]


def sources():
    """The text of every module, by its full name."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


def import_graph(texts):
    """Which modules of ours each module imports, at its top or inside functions."""
    graph = {}
    for name, text in texts.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: write imports in full"
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    graph[name].add(whole if whole in texts else node.module)
            elif isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
        graph[name] = {other for other in graph[name] if other in texts and other != name}
    return graph


def within(module, package):
    return module == package or module.startswith(f"{package}.")


def against_the_order(graph, order):
    """Imports from a lower package, or from no package, of a higher one."""

    def rank(module):
        ranks = [i for i, package in enumerate(order) if within(module, package)]
        return ranks[0] if ranks else None

    common = order[0].rpartition(".")[0]
    for module, others in graph.items():
        if module in ENTRY_POINTS or not within(module, common):
            continue
        own = rank(module)
        for other in others:
            theirs = rank(other)
            if theirs is not None and (own is None or theirs > own):
                yield f"{module} imports {other}"


def cycles(graph):
    """One cycle through each module that is in any, as it is met."""
    state, found = {}, []

    def visit(module, path):
        state[module] = "open"
        for other in sorted(graph[module]):
            if state.get(other) == "open":
                found.append(" → ".join([*path[path.index(other) :], other]))
            elif other not in state:
                visit(other, [*path, other])
        state[module] = "done"

    for module in sorted(graph):
        if module not in state:
            visit(module, [module])
    return found


def imports_of_entry_points(graph):
    return [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others & ENTRY_POINTS
        if module not in ENTRY_POINTS
    ]


def verifier_from_producer(graph):
    """What the verifier takes from the producer, in however many steps inside `publication`."""
    queue = [module for module in graph if any(within(module, part) for part in VERIFIER)]
    seen = set(queue)
    while queue:
        module = queue.pop()
        if within(module, REDRAWN):
            continue
        for other in graph[module]:
            if any(within(other, producer) for producer in PRODUCER):
                if within(module, "gridveil.publication"):
                    yield f"{module} imports {other}"
            elif other not in seen and within(other, "gridveil.publication"):
                seen.add(other)
                queue.append(other)


def violations(texts):
    graph = import_graph(texts)
    return [
        *(text for order in stated_orders() for text in against_the_order(graph, order)),
        *cycles({module: others - ENTRY_POINTS for module, others in graph.items()}),
        *imports_of_entry_points(graph),
        *verifier_from_producer(graph),
    ]


def test_the_layers_hold():
    assert violations(sources()) == []


def test_the_page_orders_every_package():
    packages = {f"gridveil.{path.parent.name}" for path in SOURCES.glob("*/__init__.py")}
    assert packages == set(stated_orders()[0])


@pytest.mark.parametrize(
    ("module", "line", "says"),
    [
        ("gridveil.network.costs", "from gridveil.opf.acopf import solve_acopf", "opf.acopf"),
        (
            "gridveil.privacy.bounds",
            "def late():\n    from gridveil.fidelity.phase import restore",
            "fidelity.phase",
        ),
        ("gridveil.files", "import gridveil.network.network", "files imports"),
        ("gridveil.opf.status", "from gridveil.opf.acopf import OPFResult", "→"),
        ("gridveil.opf.status", "from gridveil import load_case", "imports gridveil"),
        (
            "gridveil.publication.verification.verify",
            "from gridveil.publication.make import certify",
            "verify imports gridveil.publication.make",
        ),
        (
            "gridveil.publication.signing",
            "from gridveil.opf.operating_point import violations",
            "signing imports gridveil.opf.operating_point",
        ),
        (
            "gridveil.federation.partition.slices",
            "from gridveil.federation.protocol.messages import encode",
            "protocol.messages",
        ),
    ],
    ids=["up", "in-a-function", "base", "cycle", "entry-point", "verifier", "indirect", "part"],
)
def test_a_planted_violation_is_found(module, line, says):
    texts = sources()
    assert module in texts
    texts[module] += f"\n{line}\n"
    assert any(says in text for text in violations(texts))
