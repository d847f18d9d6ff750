"""What each load has spent of its budget, its cap, and whether a release would be allowed."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from gridveil.defaults import ALPHA, EPSILON
from gridveil.errors import GridveilError
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number
from gridveil.privacy.ledger import Account, Ledger, existing_ledger, network_id
from gridveil.privacy.phase import owner_of, spending


def show(ledger: Path | str | None = None) -> list[Account]:
    """Return the budget of every load that has spent any.

    Args:
        ledger: The ledger's file; None for the user's own.

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
    ledger: Path | str | None = None,
) -> None:
    """Set the most that loads may spend in all.

    Args:
        epsilon: The cap.
        network: Whose loads; None for all loads without a cap of their own.
        buses: Which of its loads, by their buses; None for all of them.
        ledger: The ledger's file; None for the user's own.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import budget
        >>> budget.cap("2.5", "case5_pjm", [2, 3], mkdtemp() + "/ledger.sqlite")
    """
    of = None if network is None else as_network(network)
    if of is not None and buses:
        unknown = set(buses) - set(of.load_buses)
        if unknown:
            raise GridveilError(f"{of.name} has no load at bus {min(unknown)}")
    Ledger(ledger).set_cap(epsilon, None if of is None else network_id(of), buses or None)


def explain(
    network: Network | str | Path,
    epsilon: Number = EPSILON,
    alpha: Number = ALPHA,
    ledger: Path | str | None = None,
) -> Fraction:
    """Return what a release would charge each load; nothing is spent.

    Args:
        network: The network it would be made of.
        epsilon: Its ε.
        alpha: Its α, in p.u.
        ledger: The ledger's file; None for the user's own.

    Raises:
        BudgetExceededError: It would be refused; the text says why.

    Example:
        >>> from gridveil import budget
        >>> float(budget.explain("case5_pjm", epsilon=1, ledger="no-such-ledger.sqlite"))
        1.0
    """
    owner = owner_of(as_network(network))
    with existing_ledger(ledger) as book:
        return book.check(spending(owner, epsilon, alpha))
