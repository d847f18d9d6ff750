"""The noisy loads of a party, and the weights that it gives them by itself."""

from dataclasses import replace

import numpy as np

from gridveil import Ledger, PolarLaplace, PublicCosts, load_case
from gridveil.federation.deployment.noise import draw_noisy_loads
from gridveil.federation.partition.ownership import partition
from gridveil.federation.partition.splitting import split
from gridveil.fidelity.weights import metric_weights
from gridveil.privacy.metric import Metric
from tests.federation.in_process import settings

FLOOR = 0.01


class Relative(PolarLaplace):
    """A mechanism with a relative promise, for its weights; its noise is that of another."""

    def guarantee(self):
        return replace(super().guarantee(), kind=Metric.RELATIVE, floor=FLOOR)


def drawn(tmp_path, kind):
    """Return the draws of two parties from one ledger."""
    network = load_case("case14_ieee")
    costs = PublicCosts.published(np.ones(len(network.generators)), "a report")
    slices = split(network, partition(network, 2), costs)
    place = Ledger(tmp_path / "ledger.sqlite").place
    run = settings(tuple(part.party for part in slices))
    return [draw_noisy_loads(part, run, kind.of(1, "0.1"), place)[0] for part in slices]


def test_a_party_weighs_its_loads_by_its_own_promise(tmp_path):
    for draw in drawn(tmp_path, Relative):
        p, q = draw.noisy.reshape(2, -1)
        assert draw.weights.tolist() == (1 / np.tile(p**2 + q**2 + FLOOR**2, 2)).tolist()
        noisy = np.stack([p, q], axis=1)
        expected = metric_weights(Relative.of(1, "0.1").guarantee(), noisy)
        assert np.array_equal(draw.weights, np.tile(expected, 2))


def test_all_loads_count_alike_by_an_absolute_promise(tmp_path):
    for draw in drawn(tmp_path, PolarLaplace):
        assert (draw.weights == 1.0).all()
