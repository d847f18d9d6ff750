"""Files with a row for each load: by its bus and, where a bus has several, by its number there."""

from collections.abc import Sequence
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.files import read_rows
from gridveil.network.components import LoadList

NUMBER = "number"
"""The column that says which load of a bus is meant; a bus with one load does without."""
Place = int | tuple[int, int]
"""A bus, for all of its loads, or a bus and the number of one."""


def rows_of_loads(
    path: Path, columns: Sequence[str], loads: LoadList, what: str
) -> list[tuple[str, dict[str, str]]]:
    """Return the row of each load of a list, with its place for messages.

    Args:
        path: A CSV file with a column bus, a column number where a bus has several loads, and
            others. Rows of buses without a load do no harm.
        columns: Its columns, but for number.
        loads: Every one of them needs a row.
        what: What a row says of a load, for messages.
    """
    wanted, several = set(loads.places), {bus for bus, number in loads.places if number > 1}
    found: dict[tuple[int, int], tuple[str, dict[str, str]]] = {}
    for place, row in read_rows(path, columns):
        bus, number = _whole(row["bus"], f"{place}: bus"), row.get(NUMBER) or ""
        if bus in several and not number.strip():
            raise GridveilError(
                f"{place}: bus {bus} has several loads; say which in a column {NUMBER}"
            )
        at = (bus, _whole(number, f"{place}: {NUMBER}") if number.strip() else 1)
        if at in found:
            raise GridveilError(f"{place}: {_called(*at, several)} is there twice")
        if at not in wanted and bus in {bus for bus, _ in wanted}:
            raise GridveilError(f"{place}: bus {bus} has no load {at[1]}")
        found[at] = place, row
    absent = [
        label for at, label in zip(loads.places, loads.labels, strict=True) if at not in found
    ]
    if absent:
        more = f" and {len(absent) - 1} other loads" if len(absent) > 1 else ""
        raise GridveilError(f"{path}: no {what} for {absent[0]}{more}")
    return [found[at] for at in loads.places]


def read_load_list(path: Path) -> list[Place]:
    """Read a list of loads, one to a line: a bus for all of its loads, or a bus and a number.

    A heading, "bus" or "bus,number", may come first.
    """
    found: list[Place] = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise GridveilError(f"{path}: cannot be read: {error}") from None
    for line_number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or [cell.lower() for cell in cells] in (["bus"], ["bus", NUMBER]):
            continue
        if not all(cell.isascii() and cell.isdigit() for cell in cells) or len(cells) > 2:
            raise GridveilError(
                f"{path}:{line_number}: a bus number is needed, and after a comma the number of a "
                "load there if not all are meant"
            )
        bus, *rest = map(int, cells)
        found.append((bus, rest[0]) if rest else bus)
    if any(not 0 < (one if isinstance(one, int) else one[0]) < 2**53 for one in found):
        raise GridveilError(f"{path}: bus numbers are above 0 and below 2^53")
    return found


def _whole(text: str | None, where: str) -> int:
    try:
        return int(text or "")
    except ValueError:
        raise GridveilError(f"{where}: a whole number expected") from None


def _called(bus: int, number: int, several: set[int]) -> str:
    return f"load {number} of bus {bus}" if bus in several else f"bus {bus}"
