"""How much a page shows one by one; of what is more, the part that matters, or all as one shape."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Detail:
    """Sizes up to which a page has a row and a shape for everything."""

    rows: int
    """Rows of a table; of a longer one, so many that matter most are shown."""
    shapes: int
    """Buses of a map, bars or points of a chart; more are merged, and not read one by one."""


SHORT = Detail(rows=1_000, shapes=2_000)
"""What keeps pages below 2 MB at 10,000 buses; pages of small networks are as with WHOLE."""
WHOLE = Detail(rows=sys.maxsize, shapes=sys.maxsize)
"""Everything, as Gridveil 0.3.0 showed it."""
