"""What each load has spent of its budget, its cap, and whether a release would be allowed."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from gridveil.defaults import EPSILON
from gridveil.errors import GridveilError
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.hide import Hide
from gridveil.privacy.ledger.ledger import Ledger, existing_ledger, opened_ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import Account
from gridveil.privacy.phase import spending_of
from gridveil.privacy.plausible_distance import check_distance


def show(ledger: Ledger | str | Path | None = None) -> list[Account]:
    """Return the budget of every load.

    Args:
        ledger: The ledger, or its place; None for the user's own.

    Example:
        >>> from gridveil import budget
        >>> budget.show("no-such-ledger.sqlite")
        []
    """
    with existing_ledger(ledger) as book:
        return book.accounts()


def cap(
    epsilon: Number,
    network: Network | str | Path | None = None,
    buses: Sequence[int] | None = None,
    ledger: Ledger | str | Path | None = None,
) -> None:
    """Set the most that loads may spend in all; `gridveil.ledger.cap` can say more.

    Args:
        epsilon: The cap.
        network: Whose loads; None for all loads without a cap of their own.
        buses: Which of its loads, by their buses; None for all of them.
        ledger: The ledger, or its place; None for the user's own.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import budget
        >>> budget.cap("2.5", "case5_pjm", [2, 3], mkdtemp() + "/ledger.sqlite")
    """
    if buses and network is None:
        raise GridveilError("a cap for certain buses needs the network they belong to")
    with opened_ledger(ledger) as book:
        if network is None:
            book.set_cap(epsilon)
            return
        of = as_network(network)
        owner = owner_of(of)
        listed = of.listed_loads.bus.tolist()
        for bus in buses or ():
            if bus not in listed:
                raise GridveilError(f"{of.name} has no load at bus {bus}")
        keys = zip(listed, owner.keys, strict=True)
        loads = [key for bus, of_load in keys if bus in buses for key in of_load] if buses else None
        book.set_cap(epsilon, book.open_register(owner), loads)


def explain(
    network: Network | str | Path,
    epsilon: Number = EPSILON,
    hide: Hide | str | None = None,
    alpha: Number | None = None,
    ledger: Ledger | str | Path | None = None,
) -> Fraction:
    """Return what a release would charge each load; nothing is spent.

    Args:
        network: The network it would be made of.
        epsilon: Its ε.
        hide: What it hides, such as "10%" of each load or "5MVA".
        alpha: The same as a distance α, in p.u.
        ledger: The ledger, or its place; None for the user's own.

    Raises:
        BudgetExceededError: It would be refused; the text says why.

    Example:
        >>> from gridveil import budget
        >>> float(budget.explain("case5_pjm", epsilon=1, ledger="no-such-ledger.sqlite"))
        1.0
    """
    of = as_network(network)
    mechanism = noise_choice(hide=hide, alpha=alpha).make(of, epsilon)
    with existing_ledger(ledger) as book:
        asked = spending_of(owner_of(of), mechanism)
        check_distance(of, asked, book.distance_of(asked))
        return book.check(asked)
