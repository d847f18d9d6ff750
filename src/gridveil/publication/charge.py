"""What a planned release takes of the budget of its loads, and what its ledger does not know."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from gridveil.network.network import Network
from gridveil.privacy.ledger.ledger import NEW, Ledger, existing_ledger
from gridveil.privacy.ledger.records import RegisterChoice, Spending
from gridveil.privacy.plausible_distance import check_distance

_REGISTERS_SHOWN = 5
_FIRST = (
    f"the ledger is new: {NEW}. If any of these loads was released before, its budget is in "
    "another ledger; name that one with --ledger"
)


@dataclass(frozen=True)
class Charge:
    """What a release takes of the budget of every load."""

    epsilon: Fraction
    """Charged to each load, at the distance its ledger counts at; 0 if it was drawn before."""
    least_left: Fraction
    """What then remains, at least, for any of them."""
    is_drawn: bool
    """Whether the noise was drawn under this id before, so that nothing is charged."""
    register: str = ""
    """The register of the ledger that the loads belong to."""
    is_first: bool = False
    """Whether the ledger knows no earlier release of any load."""
    elsewhere: Mapping[str, Fraction] = field(default_factory=dict)
    """The most that any load has spent in promises of other metrics, which are counted apart."""
    other_registers: tuple[str, ...] = ()
    """Registers that the ledger has, where none of them looks like the network."""


class Planned(Protocol):
    """What of a plan says what it charges."""

    @property
    def network(self) -> Network:
        """Whose loads are charged."""
        ...

    @property
    def release_id(self) -> str:
        """The name of the draw."""
        ...

    @property
    def register(self) -> RegisterChoice | None:
        """Which register the owner says the loads belong to."""
        ...

    def spending(self) -> Spending:
        """Return what is asked of the budget of each load."""
        ...


def charge_of_plan(plan: Planned, ledger: Ledger | str | Path | None) -> Charge:
    """Return what a plan would charge, or refuse what the loads cannot pay for."""
    if isinstance(ledger, Ledger):
        return _charge_of(plan, ledger)
    with existing_ledger(ledger) as book:
        return _charge_of(plan, book)


def _charge_of(plan: Planned, ledger: Ledger) -> Charge:
    asked = plan.spending()
    register = ledger.register_of(asked)
    if ledger.knows(plan.release_id):
        return Charge(Fraction(0), ledger.least_left(asked), is_drawn=True, register=register)
    check_distance(plan.network, asked, ledger.distance_of(asked))
    charge = ledger.check(asked)
    left = ledger.least_left(asked) - charge
    known = ledger.registers()
    others = () if register in known or plan.register is not None else tuple(known)
    elsewhere = ledger.spent_elsewhere(asked)
    return Charge(charge, left, False, register, ledger.is_empty, elsewhere, others)


def ledger_warnings(charge: Charge) -> Iterator[str]:
    """Give what the owner has to know of the ledger before a release."""
    for metric, most in charge.elsewhere.items():
        yield (
            f"these loads have spent ε = {float(most):g} in {metric} promises too. That is "
            "counted apart: what both tell together about a load adds up"
        )
    if charge.is_first:
        yield _FIRST
    elif charge.other_registers:
        others = ", ".join(map(repr, charge.other_registers[:_REGISTERS_SHOWN]))
        yield (
            "the ledger knows no network like this one: its loads get a register of their own, "
            f"{charge.register!r}, with nothing spent. A network that was modelled anew "
            f"cannot be recognised. If these are loads of {others}, stop, and say --register"
        )
