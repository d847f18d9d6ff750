"""Public ratings of loads, contract or transformer sizes: each load's distance follows from its."""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.network.load_tables import rows_of_loads
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number, exact

COLUMNS = ("bus", "rating_mva")
NET_COLUMN = "sn_mva"
"""Instead of a file: the ratings that a pandapower net has in this column of its loads."""
_MOST_DECIMALS = 12
_MOST_DIGITS = 100


@dataclass(frozen=True)
class PublicRatings:
    """The rating of each load of a network, in MVA, and where it was published.

    Example:
        >>> from gridveil import PublicRatings
        >>> PublicRatings.of([10, "2.5"], "grid map").mva
        (Fraction(10, 1), Fraction(5, 2))
    """

    mva: tuple[Fraction, ...]
    source: str

    @classmethod
    def of(cls, mva: "list[Number] | tuple[Number, ...]", source: str) -> "PublicRatings":
        """Return ratings in MVA, one for each load in the order of the network."""
        return cls(tuple(exact(value, "rating") for value in mva), source)

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise GridveilError(
                "ratings need a source: say where they were published; ratings taken from the "
                "loads themselves would give those away"
            )
        for i, rating in enumerate(self.mva, 1):
            if rating <= 0:
                raise GridveilError(f"ratings: that of load {i} must be above 0")
            if 10**_MOST_DECIMALS % rating.denominator:
                raise GridveilError(
                    f"ratings: that of load {i} is no number of at most {_MOST_DECIMALS} decimals"
                )

    def texts(self) -> list[str]:
        """Return the ratings as exact decimal numbers."""
        with localcontext(prec=_MOST_DIGITS):
            return [
                f"{(Decimal(rating.numerator) / rating.denominator).normalize():f}"
                for rating in self.mva
            ]


RatingsLike = PublicRatings | str | Path


def read_ratings(path: Path, network: Network, source: str) -> PublicRatings:
    r"""Read the public ratings of a network's loads.

    Args:
        path: A CSV file with the columns bus and rating_mva, and number for buses with several
            loads.
        network: Every one of its loads needs a row.
        source: Where they were published; the certificate says it.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from gridveil import load_case, read_ratings
        >>> path = Path(mkdtemp()) / "ratings.csv"
        >>> _ = path.write_text("bus,rating_mva\n2,400\n3,400\n4,630\n")
        >>> read_ratings(path, load_case("case5_pjm"), "a grid map").texts()
        ['400', '400', '630']
    """
    ratings = []
    for place, row in rows_of_loads(path, COLUMNS, network.listed_loads, "rating"):
        ratings.append(exact(row["rating_mva"] or "", f"{place}: rating_mva"))
        if ratings[-1] <= 0:
            raise GridveilError(f"{place}: rating_mva must be above 0")
    return PublicRatings(tuple(ratings), source)


def ratings_of(ratings: RatingsLike | None, source: str, network: Network) -> PublicRatings:
    """Return ratings given as such, by their file, or by the column of a pandapower net.

    Args:
        ratings: The ratings, their file, or "sn_mva".
        source: Where they were published, for a file or a column.
        network: The network.
    """
    listed = network.listed_loads
    if isinstance(ratings, PublicRatings):
        if len(ratings.mva) != len(listed):
            raise GridveilError(
                f"ratings of {len(ratings.mva)} loads for a network of {len(listed)}"
            )
        return ratings
    if ratings is None:
        raise GridveilError(
            "--hide in % of ratings needs them: --ratings FILE (ratings in Python), a CSV with the "
            f"columns bus and rating_mva; or --ratings {NET_COLUMN} for that column of a "
            "pandapower net, if it is public: in some nets it is the load itself"
        )
    if not source.strip():
        raise GridveilError(
            "--ratings-source (ratings_source in Python): say where the ratings were published; "
            "the release publishes every one of them"
        )
    if ratings != NET_COLUMN:
        return read_ratings(Path(ratings), network, source)
    found = [load.rating_mva for load in listed.identities]
    if not any(found):
        raise GridveilError(f"--ratings {NET_COLUMN}: the loads have no such column")
    without = [label for label, rating in zip(listed.labels, found, strict=True) if rating <= 0]
    if without:
        raise GridveilError(f"--ratings {NET_COLUMN}: no rating for {without[0]}")
    return PublicRatings(tuple(exact(rating, NET_COLUMN) for rating in found), source)
