"""What an owner declares public, compared with raw loads before anything is drawn or charged.

It is published as it stands, so whatever the last scan would find in it can be found before:

- in what is kept of the source file, every number is compared with P, Q and |S| of every raw load
  and with their sums, unless it is one of the model;
- a rating is compared with P and |S| of its own load alone. Ratings that were taken from the loads
  agree with those. With some of all the other loads, and of their sums, a rating of three digits
  agrees by chance: of 20 such ratings, in every fourth release.

Ratings with fewer than three significant digits cannot be told from coincidence, as in the last
scan. The refusal speaks to the owner alone, and shows no value.
"""

from collections.abc import Collection, Sequence
from decimal import Decimal

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.publication.folder import NETWORK
from gridveil.publication.scan.numbers_in_text import LEAST_DIGITS
from gridveil.publication.scan.scan import TIE, known_numbers, matches_in
from gridveil.publication.scan.secret_numbers import SAME, raw_secrets_of, units_of

_LISTED = 10


def refuse_declared(
    network: Network,
    model: Sequence[FloatArray],
    kept: str,
    ratings: Sequence[str],
    accepted: Collection[str] = (),
) -> None:
    """Refuse what is declared public if it agrees with raw loads, unless accepted by name.

    Args:
        network: The owner's network, with the raw loads.
        model: The numbers of its model, which are public.
        kept: What the owner publishes of the source as it stands.
        ratings: The public rating of each load in MVA, as it is written; none without ratings.
        accepted: Names of matches that are coincidence.

    Raises:
        GridveilError: There is such a match; says where, and shows no value.
    """
    found = [*kept_matches(network, model, kept), *rating_matches(network, ratings)]
    left = [(name, place) for name, place in found if name not in accepted]
    if not left:
        return
    listed = [f"  {name}{place}" for name, place in left[:_LISTED]]
    if len(left) > _LISTED:
        listed.append(f"  and {len(left) - _LISTED} more")
    raise GridveilError(
        "what you declare public has numbers that agree with raw loads; it would be published as "
        "it stands:\n"
        + "\n".join(listed)
        + "\nNothing was drawn or charged. Take these numbers out of what you keep, or take "
        "ratings that were published. If a match is a coincidence, accept it by name: "
        f"--accept-match '{left[0][0]}' (accept_matches= in Python)"
    )


def kept_matches(network: Network, model: Sequence[FloatArray], kept: str) -> list[tuple[str, str]]:
    """Return name and place of every number of a kept text that agrees with a raw load.

    Args:
        network: The owner's network, with the raw loads.
        model: The numbers of its model, which are public.
        kept: What is published of the source as it stands, behind the tables of the case file.
    """
    if not kept:
        return []
    secrets, known = raw_secrets_of(network), known_numbers(network, model)
    data = kept.encode("utf-8", "surrogateescape")
    return [
        (match.name, f" (line {match.line} of what is kept, column {match.column})")
        for match in sorted(matches_in(NETWORK, ".m", data, secrets, known))
    ]


def rating_matches(network: Network, ratings: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and place of every rating that agrees with P or |S| of its own load.

    Args:
        network: The owner's network, with the raw loads.
        ratings: The rating of each load in MVA, as it is written.
    """
    written = [Decimal(text) for text in ratings]
    if not written:
        return []
    telling = np.array([_digits(rating) >= LEAST_DIGITS for rating in written])
    value = np.array([float(rating) for rating in written])
    half_unit = np.array([float(Decimal((0, (5,), _exponent(r) - 1))) for r in written])
    slack = np.maximum(half_unit * (1 + TIE), SAME * value)
    listed = network.listed_loads
    with np.errstate(over="ignore", invalid="ignore"):  # of loads that are huge
        p, q = listed.values.T * network.base_mva
        sizes = {"P": np.abs(p), "|S|": np.hypot(p, q)}
        scaled = {what: np.outer(units_of(network), size) for what, size in sizes.items()}
    found = []
    for what, loads in scaled.items():
        agrees = telling & (np.abs(loads - value) <= slack).any(axis=0)
        found += [(f"ratings: {what} of {listed.labels[i]}", "") for i in np.flatnonzero(agrees)]
    return found


def _digits(number: Decimal) -> int:
    return len(number.normalize().as_tuple().digits)


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # it is finite
    return exponent
