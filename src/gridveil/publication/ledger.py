"""What `gridveil ledger` does, as functions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gridveil.errors import GridveilError
from gridveil.files import write_atomically
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.ledger.inspection import Inspection
from gridveil.privacy.ledger.ledger import (
    Ledger,
    LedgerLike,
    Place,
    existing_ledger,
    opened_ledger,
)
from gridveil.privacy.ledger.owner import owner_of, register_choice
from gridveil.privacy.ledger.records import Account, Event
from gridveil.privacy.metric import Metric
from gridveil.publication.ledger_comparison import ComparedRow, compare_rows
from gridveil.publication.report.ledger_page import ledger_page


@contextmanager
def known_ledger(ledger: LedgerLike | None = None) -> Iterator[Ledger]:
    """Open a ledger to look at, or say that there is none: a place may be mistyped.

    Args:
        ledger: The ledger, or its place; None for the user's own.

    Raises:
        GridveilError: There is no ledger at this place: nothing can be said of it.
    """
    with existing_ledger(ledger) as book:
        if book.was_made and not isinstance(ledger, Ledger):
            raise GridveilError(
                "there is no ledger to look at: none was opened here so far. Is it in another file "
                "or database? Name that one with --ledger (ledger= in Python)"
            )
        yield book


def show(ledger: LedgerLike | None = None, register: str | None = None) -> list[Account]:
    """Return the budget of every load: spent, cap, and what is left at which distance.

    Args:
        ledger: The ledger, or its place; None for the user's own.
        register: Of one register; None for all.

    Raises:
        GridveilError: There is no ledger at this place.

    Example:
        >>> from gridveil import Ledger, ledger
        >>> from tempfile import mkdtemp
        >>> ledger.show(Ledger(mkdtemp() + "/ledger.sqlite"))
        []
    """
    with known_ledger(ledger) as book:
        return book.accounts(register)


def groups(ledger: LedgerLike | None = None, register: str | None = None) -> list[Account]:
    """Return the budget of every group of loads that have one owner.

    Args:
        ledger: The ledger, or its place; None for the user's own.
        register: Of one register; None for all.

    Raises:
        GridveilError: There is no ledger at this place.
    """
    with known_ledger(ledger) as book:
        return book.groups(register)


def history(ledger: LedgerLike | None = None, register: str | None = None) -> list[Event]:
    """Return the rows of a ledger, the oldest first.

    Args:
        ledger: The ledger, or its place; None for the user's own.
        register: Those of one register; None for all.

    Raises:
        GridveilError: There is no ledger at this place.
    """
    with known_ledger(ledger) as book:
        return book.history(register)


def cap(
    epsilon: Number,
    register: str | None = None,
    loads: Sequence[str] | None = None,
    *,
    group: str | None = None,
    distance: Number | None = None,
    hours: int | None = None,
    metric: Metric | str | None = None,
    reason: str = "",
    ledger: LedgerLike | None = None,
) -> None:
    """Set the most that loads may spend: ε at a distance, within a window of hours.

    Args:
        epsilon: The cap.
        register: Whose loads; None for all registers without a cap of their own.
        loads: Which of its loads, by their keys; None for all of them.
        group: Which of its groups.
        distance: At which distance budgets are counted: "10MVA" or 10, "10%" for promises in per
            cent of a load, "10MVAh" for those about energy; None keeps it.
        hours: Within how many consecutive hours; None keeps it.
        metric: For promises in which metric the cap is; None for all of them.
        reason: Why; it is kept in the ledger.
        ledger: The ledger, or its place; None for the user's own.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import ledger
        >>> ledger.cap(2, distance=10, reason="policy of 2026", ledger=mkdtemp() + "/l.sqlite")
    """
    measured = None
    if isinstance(distance, str) and distance.strip().endswith("%"):
        measured = Metric.RELATIVE
        distance = exact(distance.strip().removesuffix("%"), "distance") / 100
    elif isinstance(distance, str) and distance.strip().lower().endswith("mvah"):
        measured, distance = Metric.ENERGY, distance.strip()[:-4].strip()
    elif isinstance(distance, str) and distance.strip().lower().endswith("mva"):
        measured, distance = Metric.ABSOLUTE, distance.strip()[:-3].strip()
    with opened_ledger(ledger) as book:
        book.set_cap(
            epsilon,
            register,
            loads,
            group=group,
            distance=distance,
            distance_metric=measured,
            hours=hours,
            metric=None if metric is None else Metric(metric),
            reason=reason,
        )


def group(name: str, register: str, loads: Sequence[str], ledger: LedgerLike | None = None) -> None:
    """Say which loads have one owner: what they spend adds up, and has a cap together.

    Args:
        name: The owner, or what the group is called.
        register: The register of the loads.
        loads: Their keys; none at all dissolves the group.
        ledger: The ledger, or its place; None for the user's own.
    """
    with opened_ledger(ledger) as book:
        book.set_group(register, name, loads)


def register(
    network: Network | str | Path,
    register: str | None = None,
    new_register: str | None = None,
    ledger: LedgerLike | None = None,
) -> str:
    """Give every load of a network an account, and return the name of its register.

    Args:
        network: The network, or its name or path.
        register: The register that has these loads already, under other keys perhaps.
        new_register: The name of a new register: these are other loads than any the ledger knows.
        ledger: The ledger, or its place; None for the user's own.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import ledger
        >>> ledger.register("case5_pjm", new_register="north", ledger=mkdtemp() + "/l.sqlite")
        'north'
    """
    owner = owner_of(as_network(network), register_choice(register, new_register))
    with opened_ledger(ledger) as book:
        return book.open_register(owner)


def add(loads: Sequence[str], register: str, reason: str, ledger: LedgerLike | None = None) -> None:
    """Say that loads are new, so that nothing was ever spent on them.

    Args:
        loads: Their keys.
        register: Their register.
        reason: Why; it is kept in the ledger.
        ledger: The ledger, or its place; None for the user's own.
    """
    with opened_ledger(ledger) as book:
        book.add_loads(register, loads, reason)


def check(ledger: LedgerLike | None = None) -> Inspection:
    """Read a whole ledger, and say what does not follow from its chain of rows.

    Args:
        ledger: The ledger, or its place; None for the user's own.

    Raises:
        GridveilError: There is no ledger at this place.
    """
    with known_ledger(ledger) as book:
        return book.inspect()


def compare(
    certificates: Sequence[str | Path], ledger: LedgerLike | None = None, *, alone: bool = False
) -> list[ComparedRow]:
    """Compare the rows that releases name with the ledger, and with each other.

    Args:
        certificates: Certificates, or folders of releases.
        ledger: The ledger, or its place; None for the user's own.
        alone: Look at no ledger: compare the releases with each other only.

    Raises:
        GridveilError: There is no ledger at this place.
    """
    paths = [Path(certificate) for certificate in certificates]
    if alone:
        if ledger is not None:
            raise GridveilError("--alone: no ledger is looked at; drop --ledger")
        return compare_rows(paths, None)
    with known_ledger(ledger) as book:
        return compare_rows(paths, book)


def page(output: str | Path, ledger: LedgerLike | None = None) -> None:
    """Write an HTML page of a ledger, with a bar for each load.

    Args:
        output: Where to.
        ledger: The ledger, or its place; None for the user's own.

    Raises:
        GridveilError: There is no ledger at this place.
    """
    with known_ledger(ledger) as book:
        write_atomically(Path(output), ledger_page(book))


def copy(target: Place, ledger: LedgerLike | None = None) -> None:
    """Copy a ledger to a new file or database, with its identity; go on with one of them only.

    Args:
        target: Where to.
        ledger: The ledger, or its place; None for the user's own.
    """
    with opened_ledger(ledger) as book:
        book.copy_to(target)


def grant(role: str, spend: bool = False, ledger: LedgerLike | None = None) -> None:
    """Let a role of the database look at what was spent, or spend.

    Args:
        role: The role.
        spend: Whether it may make releases; it may look in any case.
        ledger: The ledger, or its address; None for the user's own.
    """
    with opened_ledger(ledger) as book:
        book.grant(role, spend)
