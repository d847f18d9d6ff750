"""The formats of case files, and which of them a file has.

Another package adds one through an entry point of the group "gridveil.formats".
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.network.formats.appearance import looks_like
from gridveil.network.formats.base import CaseFormat
from gridveil.network.problems import CaseError, Problem, ProblemKind
from gridveil.registry import Registry

FORMATS: Registry[CaseFormat] = Registry(
    "format",
    "gridveil.formats",
    CaseFormat,  # type: ignore[type-abstract]  # subclasses of it are what is registered
    {
        "matpower": "gridveil.network.formats.matpower:MatpowerFormat",
        "pandapower": "gridveil.network.formats.pandapower:PandapowerFormat",
        "powermodels": "gridveil.network.formats.powermodels:PowerModelsFormat",
        "matlab": "gridveil.network.formats.matlab:MatlabFormat",
        "psse": "gridveil.network.formats.psse:PsseFormat",
        "cgmes": "gridveil.network.formats.cgmes:CgmesFormat",
        "xiidm": "gridveil.network.formats.xiidm:XiidmFormat",
        "ucte": "gridveil.network.formats.ucte:UcteFormat",
        "ieee-cdf": "gridveil.network.formats.ieee_cdf:IeeeCdfFormat",
    },
)
_DEFAULT = "matpower"
"""Format of saved files whose suffix no format has."""


def format_of(path: Path) -> CaseFormat:
    """Return the format of an existing file or folder.

    The suffix decides together with the content. A file whose content no format recognises still
    goes to the only format that has its suffix, which then says what is wrong with it.

    Raises:
        CaseError: No format has this suffix or recognises the content.
    """
    with_suffix = list(_with_suffix(path))
    for candidate in (*with_suffix, *_all()):
        if _recognises(candidate, path):
            return candidate
    if len(with_suffix) == 1:
        return with_suffix[0]
    known = ", ".join(map(_described, FORMATS.names))
    reason = f"not a case file: it looks like {looks_like(path)}. Formats that are read: {known}"
    raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])


def format_for(path: Path) -> CaseFormat:
    """Return the format to save a file in: the one with its suffix, otherwise MATPOWER's."""
    return next(_with_suffix(path), _create(_DEFAULT))


def is_case_path(text: str) -> bool:
    """Return whether a text ends as the name of a case file does."""
    suffix = Path(text).suffix
    return bool(suffix) and any(_with_suffix(Path(text)))


def is_case_folder(path: Path) -> bool:
    """Return whether a path is a folder that some format reads as a whole."""
    return path.is_dir() and any(_recognises(candidate, path) for candidate in _all())


def _all() -> Iterator[CaseFormat]:
    """Return every format that works: a broken package must not stop what does without it."""
    for name in FORMATS.names:
        with suppress(GridveilError):
            yield _create(name)


def _described(name: str) -> str:
    try:
        return f"{name} ({' '.join(_create(name).suffixes)})"
    except GridveilError as error:
        return f"{name} (broken: {error})"


def _recognises(candidate: CaseFormat, path: Path) -> bool:
    try:
        return bool(candidate.recognises(path))
    except Exception:  # it must not raise; then it is none of its files
        return False


def _create(name: str) -> CaseFormat:
    kind = FORMATS.get(name)
    try:
        made = kind()
        suffixes: object = made.suffixes
    except Exception as error:  # whatever the code of another package raises
        raise GridveilError(f"format {name!r} does not keep to the interface: {error}") from error
    if not isinstance(suffixes, list | tuple) or not all(isinstance(one, str) for one in suffixes):
        raise GridveilError(f"format {name!r} does not keep to the interface: suffixes")
    return made


def _with_suffix(path: Path) -> Iterator[CaseFormat]:
    return (each for each in _all() if path.suffix.lower() in each.suffixes)
