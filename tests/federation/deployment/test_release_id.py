"""A release without an id of its own gets one that depends on its inputs, the same for ever."""

import pytest

from gridveil.federation.deployment.federate import default_release_id
from gridveil.federation.partition.ownership import partition
from gridveil.network.library import load_case
from gridveil.publication.costs import Provenance

FEDERATED = "pglib_opf_{}-federated-{}"


@pytest.mark.parametrize(
    ("case", "choice", "epsilon", "alpha", "mechanism", "provenance", "digest"),
    [
        ("case14_ieee", {"parties": 3}, "1", "0.1", "polar-laplace", "derived", "6909347f"),
        ("case14_ieee", {"parties": 3}, 1, 0.1, "polar-laplace", "published", "e1a10edd"),
        ("case39_epri", {"parties": 5}, "0.5", "1/20", "product-laplace", "derived", "647483a1"),
        ("case39_epri", {"parties": 5}, "2", "0.1", "polar-laplace", "published", "70ef75cd"),
        ("case73_ieee_rts", {"by": "area"}, "1", "0.1", "polar-laplace", "derived", "c56e56f2"),
    ],
)
def test_the_id_stays_as_it_is(case, choice, epsilon, alpha, mechanism, provenance, digest):
    network = load_case(case)
    owned = partition(network, **choice)
    made = default_release_id(network, owned, epsilon, alpha, mechanism, Provenance(provenance))
    assert made == FEDERATED.format(case, digest)
