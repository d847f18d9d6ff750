"""The private total load: the right noise, drawn once, charged to every load."""

import numpy as np
import pytest

from gridveil import Ledger
from gridveil.privacy.total import privatise_total
from tests.cases import TINY


def test_the_noise_is_that_of_one_load(tmp_path):
    """Laplace of scale α/ε, whatever the number of loads: |noise| has the mean α/ε."""
    network, ledger = TINY.network(), Ledger(tmp_path / "ledger.sqlite")
    ledger.set_cap(10**6)
    true = network.loads.values.sum(axis=0)
    draws = [privatise_total(network, 1, 0.1, ledger, f"{i}") for i in range(400)]
    noise = np.array([(total.p, total.q) for total in draws]) - true
    assert np.abs(noise).mean() == pytest.approx(0.1, rel=0.25)  # seven standard errors
    assert abs(noise.mean()) < 0.04


def test_it_is_drawn_and_charged_once(tmp_path):
    network, ledger = TINY.network(), Ledger(tmp_path / "ledger.sqlite")
    one = privatise_total(network, "0.25", 0.1, ledger, "one")
    assert privatise_total(network, "0.25", 0.1, ledger, "one") == one
    assert [float(account.spent) for account in ledger.accounts()] == [0.25, 0.25]
