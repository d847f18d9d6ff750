"""Mechanisms that break the interface are refused, and the ledger has no row of them."""

import sqlite3
from dataclasses import dataclass, replace

import numpy as np
import pytest

from gridveil import GridveilError, Mechanism, ProductLaplace, privatise, release
from gridveil.network.library import load_case
from gridveil.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class Foreign(ProductLaplace):
    """A mechanism of somebody else's that keeps to the interface; each test breaks one thing."""

    name = "foreign"


class NotANumber(Foreign):
    def guarantee(self):
        return replace(super().guarantee(), epsilon=float("nan"))


class NoDelta(Foreign):
    def guarantee(self):
        return replace(super().guarantee(), delta=1.0)


class OtherName(Foreign):
    def guarantee(self):
        return replace(super().guarantee(), mechanism="other")


class NoText(Foreign):
    def guarantee(self):
        return replace(super().guarantee(), metric=None)


class NoGuarantee(Foreign):
    def guarantee(self):
        return {"epsilon": 1.0}


class Raises(Foreign):
    def guarantee(self):
        raise ZeroDivisionError("division by zero")


class Nameless(Foreign):
    def specification(self):
        return self.calibration.specification()


class NumbersInSpecification(Foreign):
    def specification(self):
        return {"mechanism": self.name, "epsilon": 1}


class NoStep(Foreign):
    @property
    def step(self):
        return 1e-4


class Unnamed(Foreign):
    name = ""


class Taken(Foreign):
    name = "polar-laplace"


class Floats(Foreign):
    def release(self, loads):
        return super().release(loads).astype(float)


class OneColumn(Foreign):
    def release(self, loads):
        return super().release(loads)[:, 0]


class AList(Foreign):
    def release(self, loads):
        return super().release(loads).tolist()


class TooLarge(Foreign):
    def release(self, loads):
        return np.full(loads.shape, 2**60)


BROKEN = {
    NotANumber: r"'foreign': guarantee\(\) its numbers must be finite and above 0",
    NoDelta: r"guarantee\(\) δ must be 0 or more, and below 1",
    OtherName: r"guarantee\(\) must bear its name",
    NoText: r"guarantee\(\) .*metric.* must be texts",
    NoGuarantee: r"guarantee\(\) must return a gridveil.Guarantee",
    Raises: r"mechanism Raises: it cannot say what it is: ZeroDivisionError: division by zero",
    Nameless: r"specification\(\) must hold its name",
    NumbersInSpecification: r"specification\(\) must return texts by name",
    NoStep: "step must be a fraction above 0",
    Unnamed: "its name must be a short text",
    Floats: r"release\(\) must return whole numbers",
    OneColumn: r"release\(\) must return an array of the shape of the loads",
    AList: r"release\(\) must return an array",
    TooLarge: r"release\(\) must return whole numbers of at most",
}


def rows(path):
    """Return how many rows all tables of a ledger have."""
    with sqlite3.connect(path) as ledger:
        tables = ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return sum(
            ledger.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables
        )


@pytest.fixture
def ledger(tmp_path):
    """A ledger's file that holds nothing but what every new ledger holds."""
    path = tmp_path / "ledger.sqlite"
    Ledger(path).accounts()
    return path


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_mechanism_is_refused_and_nothing_is_charged(ledger, kind):
    before = rows(ledger)
    with pytest.raises(GridveilError, match=BROKEN[kind]):
        release("case5_pjm", ledger, mechanism=kind.of(1, 0.1), beta=0.05, release_id="broken")
    with pytest.raises(GridveilError, match=BROKEN[kind]):
        privatise(load_case("case5_pjm"), kind.of(1, 0.1), Ledger(ledger), "broken")
    assert rows(ledger) == before
    assert not Ledger(ledger).knows("broken")
    assert Ledger(ledger).accounts() == []


def test_the_same_without_the_mistake_is_released_and_charged(ledger):
    before = rows(ledger)
    made = release("case5_pjm", ledger, mechanism=Foreign.of(1, 0.1), beta=0.05)
    assert made.certificate.protection.mechanism == "foreign"
    assert len(Ledger(ledger).accounts()) == 3
    assert rows(ledger) > before


def test_the_name_of_another_mechanism_is_refused(ledger):
    with pytest.raises(GridveilError, match="'polar-laplace': another mechanism is registered"):
        release("case5_pjm", ledger, mechanism=Taken.of(1, 0.1), beta=0.05)
    assert Ledger(ledger).accounts() == []


@pytest.mark.parametrize("mechanism", [ProductLaplace, object(), 3])
def test_what_is_no_mechanism_is_refused(ledger, mechanism):
    with pytest.raises(GridveilError, match="a name or an object of a subclass of gridveil"):
        release("case5_pjm", ledger, mechanism=mechanism)
    assert Ledger(ledger).accounts() == []


def test_a_mechanism_without_a_method_cannot_be_made():
    class NoLoss(ProductLaplace):
        loss = Mechanism.loss

    with pytest.raises(TypeError, match=r"abstract method '?loss"):
        NoLoss.of(1, 0.1)
