"""The privacy phase of a party: its mechanism, and its noisy loads through its own ledger."""

import numpy as np

from gridveil.admm.draw import Draw, make_draw
from gridveil.errors import GridveilError
from gridveil.federation.partition.slices import Slice
from gridveil.federation.protocol.settings import Run
from gridveil.fidelity.weights import metric_weights
from gridveil.privacy.ledger.ledger import Ledger, Place
from gridveil.privacy.ledger.records import Entry, LoadOwner, RegisterChoice
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.registry import MECHANISMS, make_mechanism
from gridveil.privacy.phase import privatise_loads, spending_of
from gridveil.privacy.plausible_distance import check_within


def run_mechanism(run: Run) -> Mechanism:
    """Return the mechanism of a run; refuse one that needs public bounds: slices have none."""
    if MECHANISMS.get(run.mechanism).needs_bounds:
        raise GridveilError(
            f"the {run.mechanism} mechanism needs public bounds of every load, which a federation "
            "does not have; choose another"
        )
    return make_mechanism(run.mechanism, run.epsilon, run.alpha, floor=run.floor)


def draw_noisy_loads(
    party_slice: Slice,
    run: Run,
    mechanism: Mechanism,
    ledger: Place,
    register: RegisterChoice | None = None,
) -> tuple[Draw, Entry | None]:
    """Draw the noisy loads of a party, or take those that its ledger holds for this run.

    Args:
        party_slice: The party's part of the network, with its true loads.
        run: The settings of the run.
        mechanism: Draws the noise.
        ledger: Where the party's ledger is.
        register: Which of its registers the loads belong to, where it asks.

    Returns:
        The noisy loads with the weights that the party gives them, and the ledger's entry; no entry
        for a party without loads.
    """
    if not party_slice.loads:
        return make_draw(np.zeros(0)), None
    name = f"{run.id}/{party_slice.party}"
    owner = party_owner(party_slice, register)
    conditions = {"costs_derived": run.costs_derived} if run.costs_derived else None
    opened = Ledger(ledger)
    if party_slice.plausible_mva is not None and not opened.knows(name):
        asked = spending_of(owner, mechanism)
        check_within(
            party_slice.plausible_mva,
            party_slice.base_mva,
            party_slice.network,
            asked,
            opened.distance_of(asked),
        )
    noisy = privatise_loads(
        owner, party_slice.true_loads(), mechanism, opened, name, conditions=conditions
    )
    loads = np.stack([noisy.p, noisy.q])
    return make_draw(loads.ravel(), metric_weights(noisy.guarantee, loads.T)), opened.entry(name)


def party_owner(party_slice: Slice, register: RegisterChoice | None = None) -> LoadOwner:
    """Return the owner of a party's loads, as its ledger knows them."""
    return LoadOwner(
        network=party_slice.network_id,
        label=party_slice.network,
        base_mva=party_slice.base_mva,
        buses=party_slice.load_buses,
        keys=party_slice.load_keys,
        surroundings=[frozenset(load.branches) for load in party_slice.loads],
        is_part=True,
        register=register,
    )
