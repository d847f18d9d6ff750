"""Federations in one process: a thread to each member, queues instead of a network."""

import queue
import threading
from types import TracebackType

import numpy as np

from gridveil import (
    AgentOptions,
    PolarLaplace,
    PublicCosts,
    as_network,
    simulate_loads,
    solve_acopf,
)
from gridveil.admm.draw import make_draw
from gridveil.errors import GridveilError
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.local_agents import build_local_agents
from gridveil.federation.partition.splitting import split
from gridveil.federation.protocol.coordinator import Coordinator
from gridveil.federation.protocol.handshake import handshake_digests, receive_hellos, send_hellos
from gridveil.federation.protocol.party import Party, party_mailbox, report_done
from gridveil.federation.protocol.settings import Run
from gridveil.fidelity.agents import Agents
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.phase import fidelity_problems
from gridveil.fidelity.weights import metric_weights


class QueueChannel:
    """A channel among threads."""

    def __init__(self, name, boxes):
        self.name, self.boxes = name, boxes

    def send(self, to, data):
        self.boxes[to].put((self.name, data))

    def receive(self, timeout):
        try:
            return self.boxes[self.name].get(timeout=timeout)
        except queue.Empty:
            return None

    def connected(self):
        return frozenset(self.boxes)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_: TracebackType):
        pass


def problem(case, alpha=0.1, beta=0.1, seed=1):
    network = as_network(case)
    costs = solve_acopf(network).generator_costs
    return network, costs, simulate_loads(network, PolarLaplace.of(1, alpha), seed), beta


def settings(parties, **changes):
    return Run(
        **{"id": "test", "parties": parties, "epsilon": "1", "alpha": "0.1", "beta": 0.1, **changes}
    )


def slices_of(network, partition, costs, noisy):
    """Return slices, and each party's noisy loads with the weights it gives them itself."""
    places = {place: i for i, place in enumerate(network.listed_loads.places)}
    parts = split(network, partition, PublicCosts.published(costs, "a report"))
    own = []
    for part in parts:
        rows = [places[place] for place in part.load_places]
        loads = np.stack([noisy.p[rows], noisy.q[rows]])
        own.append(make_draw(loads.ravel(), metric_weights(noisy.guarantee, loads.T)))
    return parts, own


class Member:
    """A party with its handshake before and its report after, as `members.party` runs them."""

    def __init__(self, part, local, loads, run, channel, state_file, log):
        self.name, self.local, self.settings, self.state_file = part.party, local, run, state_file
        self.mailbox = party_mailbox(local, run, channel, log)
        self.loads = loads

    def run(self):
        digests = handshake_digests(self.local, self.settings)
        fresh = not self.state_file.exists()
        send_hellos(self.mailbox, digests)
        party = Party(
            self.name, self.local, self.loads, self.settings, self.mailbox, self.state_file
        )
        try:
            if fresh:
                receive_hellos(self.mailbox, self.name, digests)
        except GridveilError as error:
            self.mailbox.stop_all(digests, str(error))
            raise
        return party.run()

    def finish(self):
        report_done(self.mailbox)


def federated(network, costs, noisy, beta, partition, folder, channel=QueueChannel, **changes):
    """Run a federation here; return each party's result, its slice, the members, and the log."""
    run = settings(partition.parties, beta=beta, **changes)
    boxes = {name: queue.Queue() for name in (*partition.parties, COORDINATOR)}
    parts, own = slices_of(network, partition, costs, noisy)
    logged = []
    parties = [
        Member(part, build_local_agents(part, beta), loads, run, channel(part.party, boxes),
                 folder / f"{part.party}.state", logged.append)
        for part, loads in zip(parts, own, strict=True)
    ]  # fmt: skip
    coordinator = Coordinator(
        run, channel(COORDINATOR, boxes), folder / "coordinator.state", logged.append
    )
    found = {}

    def go(name, member):
        try:
            found[name] = member.run()
            member.finish()
        except BaseException as error:
            found[name] = error

    members = {**{part.party: member for part, member in zip(parts, parties, strict=True)},
               COORDINATOR: coordinator}  # fmt: skip
    threads = [
        threading.Thread(target=go, args=item, name=item[0], daemon=True)
        for item in members.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return found, parts, members, logged


def together(network, costs, noisy, beta, **options):
    """Return the result of the engine in one process."""
    method = Agents(AgentOptions(**options))
    (problem,) = fidelity_problems(network, [noisy], costs, beta, method, BandKind.COST)
    return method.solve(problem)


def joined(network, found, parts):
    """Return everybody's loads, dispatch and voltages in the network's order."""
    loads = {place: i for i, place in enumerate(network.listed_loads.places)}
    gens = {int(row) + 1: i for i, row in enumerate(network.generators.row)}
    buses = {int(number): i for i, number in enumerate(network.buses.number)}
    values = {name: np.full(n, np.nan) for name, n in (
        ("p", len(loads)), ("q", len(loads)), ("gen_p", len(gens)), ("gen_q", len(gens)),
        ("v", len(buses)), ("theta", len(buses)),
    )}  # fmt: skip
    for part in parts:
        one = found[part.party]
        at = [loads[place] for place in part.load_places]
        values["p"][at], values["q"][at] = one.p, one.q
        at = [gens[generator.number] for generator in part.generators]
        values["gen_p"][at], values["gen_q"][at] = one.point.p, one.point.q
        at = [buses[bus.number] for bus in part.buses]
        values["v"][at], values["theta"][at] = one.point.v, one.point.theta
    return values
