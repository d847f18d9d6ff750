"""Registries: names of ours and of installed packages, and what is refused of the latter."""

import textwrap
from itertools import count

import pytest

from gridveil.errors import GridveilError
from gridveil.fidelity.base import FidelityMethod
from gridveil.fidelity.central import Central
from gridveil.fidelity.registry import METHODS
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.registry import Registry

GROUP = "gridveil.tests"
OURS = {"central": "gridveil.fidelity.central:Central"}
_number = count()


def registry():
    return Registry("method", GROUP, FidelityMethod, OURS)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module, with one entry point."""

    def run(name, target, source):
        module = f"some_package_{next(_number)}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}:{target}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return run


GOOD = """
    from gridveil.fidelity.central import Central

    class Theirs(Central):
        name = "theirs"
"""


def test_ours_are_there():
    assert registry().names == ("central",)
    assert "central" in registry()
    assert registry().get("central") is Central
    for ours in (MECHANISMS, METHODS):
        assert all(ours.get(name).name == name for name in ours.names)


def test_another_package_adds_one(install):
    install("theirs", "Theirs", GOOD)
    assert registry().names == ("central", "theirs")
    assert registry().get("theirs").name == "theirs"


def test_an_unknown_name_lists_the_names(install):
    install("theirs", "Theirs", GOOD)
    assert "magic" not in registry()
    with pytest.raises(GridveilError, match=r"^method: 'magic' is none of central, theirs$"):
        registry().get("magic")


def test_nothing_is_imported_before_it_is_asked_for(install):
    install("theirs", "Theirs", "raise RuntimeError('imported')")
    assert "theirs" in registry()
    assert registry().get("central") is Central


@pytest.mark.parametrize(
    ("target", "source", "reason"),
    [
        ("Theirs", "import no_such_module", "cannot be loaded: No module named 'no_such_module'"),
        ("Theirs", "raise RuntimeError('it rains')", "cannot be loaded: it rains"),
        ("Theirs", "x = 1", "cannot be loaded: .*Theirs"),
        ("Theirs", "class Theirs: ...", "is not a subclass of gridveil.fidelity.base.Fidelity"),
        ("theirs", "def theirs(): ...", "is not a subclass of gridveil.fidelity.base.Fidelity"),
        (
            "Theirs",
            """
            from gridveil.fidelity.base import FidelityMethod

            class Theirs(FidelityMethod):
                name = "theirs"
            """,
            "does not define solve",
        ),
        (
            "Central",
            "from gridveil.fidelity.central import Central",
            "has another name in its class, 'central'",
        ),
    ],
)
def test_what_breaks_the_interface_is_refused_by_its_package(install, target, source, reason):
    install("theirs", target, source)
    with pytest.raises(GridveilError, match=f"^method 'theirs' of the package theirs {reason}"):
        registry().get("theirs")


def test_another_package_cannot_take_the_name_of_ours(install):
    install("central", "Theirs", GOOD)
    assert registry().names == ("central",)
    assert registry().get("central") is Central
