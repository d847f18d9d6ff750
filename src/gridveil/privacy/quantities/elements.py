"""What circuits and generators are called: by buses, and by their number there.

All rows of a table count, in service or not, so that a name stays when another one is switched off.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.case_file import COLUMNS
from gridveil.network.network import Network
from gridveil.network.units import Unit, encoded_all


def circuit_keys(network: Network) -> tuple[str, ...]:
    """Return a name of every line: its buses, the lower number first, and its number between them.

    Example:
        >>> from gridveil import load_case
        >>> circuit_keys(load_case("case5_pjm"))[:3]
        ('1-2-1', '1-4-1', '1-5-1')
    """
    table = network.case.tables["branch"]
    ends = zip(table.column("fbus").tolist(), table.column("tbus").tolist(), strict=True)
    pairs = [(min(pair), max(pair)) for pair in ends]
    names = [f"{one:.0f}-{other:.0f}" for one, other in pairs]
    return _numbered(names, network.lines.row)


def generator_keys(network: Network) -> tuple[str, ...]:
    """Return a name of every generator: its bus, and its number there.

    Example:
        >>> from gridveil import load_case
        >>> generator_keys(load_case("case5_pjm"))
        ('1-1', '1-2', '3-1', '4-1', '5-1')
    """
    buses = network.case.tables["gen"].column("bus").tolist()
    return _numbered([f"{bus:.0f}" for bus in buses], network.generators.row)


def write_column(
    table: tuple[str, FloatArray],
    column: str,
    rows: IntArray,
    values: FloatArray,
    base_mva: float,
    *,
    unit: Unit,
    idle: float = 0.0,
) -> None:
    """Write values in p.u. into a column of a table.

    Args:
        table: Its name, and its numbers, which change.
        column: The name of the column.
        rows: The rows in service, which get the values; infinite ones stand for none, written as 0.
        values: The values.
        base_mva: The base of the case.
        unit: How the case has them.
        idle: What all other rows get.
    """
    name, cells = table
    at = COLUMNS[name].index(column)
    cells[:, at] = idle
    cells[rows, at] = encoded_all(unit, np.where(np.isfinite(values), values, 0.0), base_mva)


def _numbered(names: Iterable[str], rows: IntArray) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    keys = []
    for name in names:
        seen[name] += 1
        keys.append(f"{name}-{seen[name]}")
    return tuple(keys[row] for row in rows)
