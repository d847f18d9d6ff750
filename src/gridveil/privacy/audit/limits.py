"""What an audit cannot see, in words: a play knows nothing but the outputs of the trials made."""

import math

from gridveil.privacy.audit.game import score_of
from gridveil.privacy.audit.residues import LARGEST_MODULUS

_ALWAYS = (
    "noise from a seed or a back door that someone knows or can guess, but that differs in the "
    "calls, processes and forks compared: to whoever does not know it, it looks like noise",
    "what depends on the time, the machine, the number of earlier calls, or on loads, numbers of "
    "loads and orders that were not tried",
    "what does not stand in the outputs: how long a draw takes, memory, logs, files, connections",
    f"digits that survive modulo a number above {LARGEST_MODULUS} only, such as a large prime, and "
    "ties between outputs that no play here looks for",
)


def not_seen(claimed: float, guesses: int, error: float, left_out: str) -> tuple[str, ...]:
    """Say what cannot be seen with so many guesses at a rare event, and which plays were left out.

    Args:
        claimed: The ε that is claimed.
        guesses: All trials about pairs: the most guesses that can be made.
        error: The error probability of one kind of rare event.
        left_out: Plays that could not be made, and why.
    """
    # So many right guesses, and no wrong one, are needed before their bound is above the claim.
    needed = max(1.0, math.log(1 / error) / math.log1p(math.exp(-min(claimed, 700.0))))
    most = score_of(guesses, guesses, error).bound
    rare = (
        f"leaks in fewer than about one in {int(guesses / needed):,} releases, such as a raw load "
        "now and then: more trials find rarer ones"
        if needed <= guesses
        else f"any leak through rare outputs: with so few trials no such bound is above {most:.1f}"
    )
    kept = f"left out here: {left_out}"
    return (rare, *_ALWAYS, *([kept] if left_out else []))
