"""Every example in a docstring runs and shows what it says."""

import doctest
import importlib
from pathlib import Path
from types import TracebackType

import pytest

from gridveil.errors import GridveilError

SOURCE = Path(__file__).parents[1] / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.glob("gridveil/**/*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
Raised = tuple[type[BaseException], BaseException, TracebackType]


class _Runner(doctest.DocTestRunner):
    """Skips, with the reason, an example that needs an extra which is not installed."""

    def report_unexpected_exception(
        self, out: object, test: doctest.DocTest, example: doctest.Example, exc_info: Raised
    ) -> None:
        error = exc_info[1]
        refused = isinstance(error, GridveilError) and "pip install" in str(error)
        missing = isinstance(error, ModuleNotFoundError) and error.name not in (None, "gridveil")
        if refused or missing:
            pytest.skip(f"{test.name}: {error}")
        super().report_unexpected_exception(out, test, example, exc_info)


def run(module: object) -> str:
    """Run the examples of a module, and return what failed."""
    report: list[str] = []
    runner = _Runner(optionflags=_OPTIONS, verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} needs an extra: {error}")
    report = run(module)
    assert not report, report


def test_the_modules_with_public_functions_have_examples():
    assert {
        "gridveil.network.library",
        "gridveil.network.network",
        "gridveil.opf.acopf",
        "gridveil.opf.pandapower",
    } <= set(MODULES)


def test_a_wrong_example_fails_and_a_missing_extra_is_skipped():
    class Wrong:
        """Says something else than it does.

        >>> 1 + 1
        3
        """

    class Extra:
        """Needs what is not there.

        >>> from gridveil.errors import GridveilError
        >>> raise GridveilError("pandas is not installed; pip install 'gridveil[notebook]'")
        """

    module = type(doctest)("module")
    Wrong.__module__ = Extra.__module__ = "module"
    module.Wrong = Wrong
    assert "Expected:\n    3" in run(module)
    del module.Wrong
    module.Extra = Extra
    with pytest.raises(pytest.skip.Exception, match="pandas is not installed"):
        run(module)
