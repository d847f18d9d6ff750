"""A last look at the files of a release, on the owner's side, before the folder appears.

Every number in every file, and in the files' names, is compared with the raw loads: P, Q and |S| of
every load, in service or not, their sums per area, per zone and in total, and the noise, which with
the private value gives the raw one away; in MW, kW and p.u., and in steps of the public grid. What
agrees after rounding, and is not explained by a number that may stand there, is a match.

This guards against our own mistakes. It speaks to the owner alone, knows nothing of how the files
were made, and is no part of the promise: by construction it has nothing to find. No message shows a
value; file, line and column say where it stands.

What the owner keeps of the source, and ratings of loads, are left out where they stand as they were
declared: `declared.py` compared them before anything was drawn. They explain nothing elsewhere.

What it cannot see:

- numbers with fewer than three significant digits, which are everywhere;
- in pages, a raw load that looks like an explained number once rounded. With thousands of loads
  that is every number of three or four digits; in files of data only equal numbers explain;
- numbers of the certificate that are wrong from the start: what stands in its draft, which is made
  before anything is drawn, and its figures of costs and violations explain themselves;
- a mistake before the files are made: what the fidelity phase found is taken as private, as it gets
  a blank network; a column of the source that holds the model is public, whatever stands in it;
- loads that were transformed in other ways: costs, coordinates of drawings, ranks, sums of other
  groups, voltages and flows of a solution that belongs to raw loads;
- compressed bytes, binary integers, and what `numbers_in_text` does not read as a number.

In a megabyte of random bytes some ten numbers agree by chance, as floats of single precision.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.publication.folder import CERTIFICATE, NETWORK
from gridveil.publication.scan.encoded_numbers import decoded, floats, is_binary
from gridveil.publication.scan.numbers_in_text import readings
from gridveil.publication.scan.secret_numbers import SAME, Secrets, near, secrets_of

_SAME_SINGLE = 2.0**-24
"""Relative difference up to which numbers of single precision are the same."""
TIE = 1e-9
"""Share of half a unit by which a number half-way between two may seem beyond it."""
_PAGES = (".html", ".svg")
"""Files for people, whose numbers are rounded."""
_PER_CENT = 100.0
_LISTED = 10


@dataclass(frozen=True, order=True)
class Match:
    """A number that agrees with something secret; the number itself is not kept."""

    file: str
    """The file's name; its digits as # if the match is in the name itself."""
    line: int
    """From 1; 0 for the name of a file."""
    column: int
    """From 1; in binary files, the byte."""
    what: str

    @property
    def name(self) -> str:
        """The name by which an owner accepts it as a coincidence."""
        return f"{self.file}: {self.what}"

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}" if self.line else "in the file's name"
        return f"{self.name} ({place})"


@dataclass(frozen=True, eq=False)
class Explained:
    """What may stand in the files, as it is private or public, and what the noise was."""

    numbers: tuple[FloatArray, ...] = field(repr=False)
    """Private and public numbers, exact, in the units in which they stand in the files."""
    texts: tuple[str | bytes, ...] = field(repr=False)
    """Made without any load: a draft of the certificate, styles, scripts, places of buses.

    Every number in them is explained wherever it stands, so a raw load among them goes unseen.
    """
    private: FloatArray = field(repr=False)
    """P and Q of each private (noisy) load in p.u., of shape (loads, 2)."""
    released: FloatArray = field(repr=False)
    """P and Q of each released load in p.u., of shape (loads, 2)."""
    grid_step: float | None = None
    """The step of the public grid in p.u., if loads were rounded to one."""
    kept: str = field(default="", repr=False)
    """What the owner publishes of the source as it stands, at the end of the case file."""
    ratings: str = field(default="", repr=False)
    """The declared ratings of loads, spelled as in the certificate."""


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """What explains a number of the files, sorted: exact numbers in data, rounded ones in pages."""

    exact: FloatArray
    rounded: FloatArray
    rows: int
    """The most rows of any table: pages number its rows with plain integers."""


def refuse_matches(
    files: Mapping[str, bytes],
    network: Network,
    explained: Explained,
    accepted: Collection[str] = (),
) -> None:
    """Refuse files with a match that is not accepted by its name.

    Args:
        files: The files of a release by name.
        network: The owner's network, with the raw loads.
        explained: What may stand in the files.
        accepted: Names of matches that are coincidence; those that do not occur do no harm.

    Raises:
        GridveilError: There is such a match; says where, and shows no value.
    """
    left = [match for match in scan(files, network, explained) if match.name not in accepted]
    if not left:
        return
    listed = [f"  {match}" for match in left[:_LISTED]]
    if len(left) > _LISTED:
        listed.append(f"  and {len(left) - _LISTED} more")
    raise GridveilError(
        "the folder was not written: a last look at it found numbers that agree with raw loads, "
        "and that no private or public number explains:\n"
        + "\n".join(listed)
        + "\nThe private loads are kept under their release id: another run charges nothing. If a "
        f"match is a coincidence, accept it by name: --accept-match '{left[0].name}' "
        "(accept_matches= in Python). If it is not, this is a defect of Gridveil: please report "
        "it, without the files"
    )


def scan(files: Mapping[str, bytes], network: Network, explained: Explained) -> tuple[Match, ...]:
    """Return every number of the files that agrees with raw loads and is not explained."""
    known = known_numbers(network, explained.numbers, explained.texts)
    secrets = secrets_of(network, explained.private, explained.released, explained.grid_step)
    kept = explained.kept.encode("utf-8", "surrogateescape")
    ratings = explained.ratings.encode()
    found: set[Match] = set()
    for file, data in files.items():
        in_name = list(_in_text(file, "", secrets, known))
        label = "".join("#" if c.isdigit() else c for c in file) if in_name else file
        found |= {Match(label, 0, start + 1, what) for start, what in in_name}
        suffix = PurePosixPath(file).suffix.lower()
        if file == NETWORK:
            data = data.removesuffix(kept)
        if file == CERTIFICATE and ratings:
            data = data.replace(ratings, b" " * len(ratings))
        found |= matches_in(label, suffix, data, secrets, known)
    return tuple(sorted(found))


def matches_in(label: str, suffix: str, data: bytes, secrets: Secrets, known: Known) -> set[Match]:
    """Return the matches in a file, or in a part of one.

    Args:
        label: What it is called in matches.
        suffix: That of the file's name, which says how numbers are spelled in it.
        data: Its bytes.
        secrets: What no number may agree with.
        known: What explains numbers that do.
    """
    text = _decoded(data)
    in_text = [*_in_text(text, suffix, secrets, known), *_in_encoded_text(text, secrets, known)]
    found = _placed(label, text, in_text)
    if is_binary(data):
        found |= _placed(label, data.decode("latin-1"), _in_bytes(data, (8, 4), secrets, known))
    return found


def _decoded(data: bytes) -> str:
    return data.replace(b"\0", b"").decode("utf-8", "surrogateescape")


def known_numbers(
    network: Network, private: Iterable[FloatArray], made_before: Iterable[str | bytes] = ()
) -> Known:
    """Return what explains numbers of the files.

    Args:
        network: The owner's network; how many components it has is public.
        private: Private and public numbers.
        made_before: Texts made without any load.
    """
    texts = [
        text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
        for text in made_before
    ]
    numbers = [np.asarray(array, dtype=float).ravel() for array in private]
    numbers += [readings(text, "", least_digits=1).value for text in texts]
    exact = np.abs(np.concatenate([*numbers, list(map(float, network.counts.values()))]))
    exact = exact[np.isfinite(exact)]
    with np.errstate(over="ignore"):
        rounded = np.unique([exact, _PER_CENT * exact])
    rows = max(len(table) for table in network.case.tables.values())
    return Known(np.unique(exact), rounded, rows)


def _in_text(text: str, suffix: str, secrets: Secrets, known: Known) -> Iterator[tuple[int, str]]:
    """Give the place and the name of every match in a text."""
    read = readings(text, suffix)
    slack = np.maximum(read.half_unit * (1 + TIE), SAME * read.value)
    if suffix in _PAGES:
        is_known = near(known.rounded, read.value, slack)
        is_known |= (read.half_unit == 0.5) & (read.value <= known.rows)
    else:
        is_known = near(known.exact, read.value, SAME * read.value)
    is_known |= np.isin(read.place, read.place[is_known & read.is_whole])
    for i in np.flatnonzero(near(secrets.values, read.value, slack) & ~is_known):
        yield int(read.start[i]), secrets.nearest(float(read.value[i]), float(slack[i]))


def _in_encoded_text(text: str, secrets: Secrets, known: Known) -> Iterator[tuple[int, str]]:
    """Give the matches in what stands in a text as hexadecimal or base64."""
    places, blocks = [], []
    for start, block in decoded(text):
        places.append(start)
        blocks.append(block)
        inner_text = block.decode("latin-1")
        if inner_text.isascii() and inner_text.isprintable():
            inner = _in_text(inner_text, "", secrets, known)
            yield from ((start, what) for _, what in inner)
    ends = np.cumsum([len(block) for block in blocks])
    for offset, what in _in_bytes(b"".join(blocks), (8,), secrets, known):
        index = int(np.searchsorted(ends, offset, side="right"))
        if offset + 8 <= ends[index]:
            yield places[index], what


def _in_bytes(
    data: bytes, sizes: Iterable[int], secrets: Secrets, known: Known
) -> Iterator[tuple[int, str]]:
    """Give the matches among binary floats of some sizes."""
    for size in sizes:
        for offsets, values in floats(data, size):
            slack = (SAME if size == 8 else _SAME_SINGLE) * values
            is_match = near(secrets.values, values, slack) & ~near(known.exact, values, slack)
            for i in np.flatnonzero(is_match):
                yield int(offsets[i]), secrets.nearest(float(values[i]), float(slack[i]))


def _placed(label: str, text: str, found: Iterable[tuple[int, str]]) -> set[Match]:
    """Return matches with their line and column."""
    matches = list(found)
    if not matches:
        return set()
    begins = np.array([0, *(end.end() for end in re.finditer("\n", text))])
    lines = np.searchsorted(begins, [start for start, _ in matches], side="right")
    return {
        Match(label, int(line), int(start - begins[line - 1]) + 1, what)
        for (start, what), line in zip(matches, lines, strict=True)
    }
