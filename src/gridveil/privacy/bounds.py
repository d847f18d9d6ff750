"""Public bounds of loads: from a published source, never from the loads themselves."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.load_tables import rows_of_loads
from gridveil.network.network import Network
from gridveil.privacy.sampling.grid import LARGEST

_DIGEST = re.compile("[0-9a-f]{64}")

_CLAMPED = {"clamped", "bounds", "bounds_digest"}
"""The parameters that clamping to bounds adds to a mechanism's own."""

COLUMNS = ("bus", "p_min", "p_max", "q_min", "q_max")


@dataclass(frozen=True, eq=False, repr=False)
class PublicBounds(ArrayRecord):
    """Bounds of P and Q of each load in p.u., of shape (loads, 2), or (1, 2) for all alike."""

    lower: FloatArray
    upper: FloatArray
    source: str
    """Where they were published."""
    simulated: bool = False
    """Taken from the loads themselves: for simulation only."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source.strip():
            raise GridveilError(
                "public bounds need a source: say where they were published; bounds taken from the "
                "loads themselves would give those away"
            )
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise GridveilError("public bounds must be finite numbers")
        crossed = np.flatnonzero((self.lower >= self.upper).any(axis=1))
        if len(crossed):
            raise GridveilError(
                f"public bounds are crossed for load {crossed[0] + 1} "
                f"(and {len(crossed) - 1} more): every lower bound must be below its upper bound"
            )

    def __repr__(self) -> str:
        kind = "simulation only, " if self.simulated else ""  # those show loads: no numbers here
        return f"PublicBounds({kind}of {len(self.lower)} loads, from {self.source!r})"

    def specification(self) -> dict[str, str]:
        """Return the source and a digest of the numbers."""
        values = np.stack([self.lower, self.upper]).astype(">f8").tobytes()
        return {"bounds": self.source, "bounds_digest": hashlib.sha256(values).hexdigest()}

    def of_first(self, count: int) -> "PublicBounds":
        """Return the bounds of the first loads alone."""
        return replace(self, lower=self.lower[:count], upper=self.upper[:count])

    def require_public(self, count: int) -> None:
        """Refuse bounds that a release of `count` loads cannot have."""
        if self.simulated:
            raise GridveilError(
                "these bounds were taken from the loads, which is for simulation only; a release "
                "needs bounds from a published source"
            )
        if len(self.lower) not in (1, count):
            raise GridveilError(f"public bounds for {len(self.lower)} loads, but there are {count}")

    def on_grid(self, step: Fraction, count: int) -> tuple[IntArray, IntArray]:
        """Return the bounds of `count` loads in whole grid steps, moved inwards."""
        self.require_public(count)
        if max(abs(self.lower).max(), abs(self.upper).max()) > LARGEST * float(step):
            raise GridveilError("public bounds are too wide for the grid step; use a larger one")
        lower, upper = (
            np.array([to_whole(Fraction(float(v)) / step) for v in side.ravel()], dtype=np.int64)
            .reshape(side.shape)
            for side, to_whole in ((self.lower, _ceiling), (self.upper, _floor))
        )  # fmt: skip
        shape = (count, 2)
        return np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)


def are_bounds(parameters: Mapping[str, str]) -> bool:
    """Whether parameters of a mechanism name public bounds: a source, and a digest of numbers."""
    digest = parameters.get("bounds_digest", "")
    return bool(parameters.get("bounds", "").strip()) and _DIGEST.fullmatch(digest) is not None


def has_only_parameters(parameters: Mapping[str, str], own: set[str]) -> bool:
    """Whether a mechanism has no parameters but its own and those of clamping."""
    extra = set(parameters) - own
    return not extra or (
        extra == _CLAMPED and parameters["clamped"] == "yes" and are_bounds(parameters)
    )


def read_bounds(path: Path, network: Network) -> PublicBounds:
    r"""Read public bounds of a network's loads.

    Args:
        path: A CSV file with the columns bus, p_min, p_max, q_min, q_max, in MW and MVAr, and
            number for buses with several loads.
        network: Every one of its loads needs a row.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from gridveil import load_case, read_bounds
        >>> path = Path(mkdtemp()) / "ratings.csv"
        >>> rows = "".join(f"{bus},0,500,-200,200\n" for bus in (2, 3, 4))
        >>> _ = path.write_text("bus,p_min,p_max,q_min,q_max\n" + rows)
        >>> read_bounds(path, load_case("case5_pjm")).upper[0].tolist()
        [5.0, 2.0]
    """
    values = []
    for place, row in rows_of_loads(path, COLUMNS, network.listed_loads, "bounds"):
        try:
            values.append([float(row[name]) for name in COLUMNS[1:]])
        except (TypeError, ValueError):
            raise GridveilError(f"{place}: five numbers expected: {', '.join(COLUMNS)}") from None
    table = np.array(values) / network.base_mva
    return PublicBounds(table[:, [0, 2]], table[:, [1, 3]], path.name)


def as_bounds(bounds: PublicBounds | str | Path | None, network: Network) -> PublicBounds | None:
    """Return public bounds that are given as such or by their file, if any are."""
    return read_bounds(Path(bounds), network) if isinstance(bounds, str | Path) else bounds


def simulation_bounds(network: Network) -> PublicBounds:
    """Return bounds taken from the loads themselves, alike for all: for simulation only."""
    loads = network.loads.values
    lower = loads.min(axis=0, keepdims=True, initial=0.0)
    upper = loads.max(axis=0, keepdims=True, initial=0.0)
    upper = np.maximum(upper, lower + 1e-3)
    return PublicBounds(lower, upper, "the loads themselves", simulated=True)


def _ceiling(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
