"""Federated runs in real processes, against the engine in one process, with their pace.

Run: .venv/bin/python -m benchmarks.federation [NESTA_FOLDER] [same|pace]   (20 minutes, or 2)
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fidelity import SHARED
from benchmarks.report import write_table
from gridveil import (
    AgentOptions,
    Ledger,
    PolarLaplace,
    PublicCosts,
    load_case,
    restore,
    solve_acopf,
    verify,
)
from gridveil.experiments.paper.definitions import definitions
from gridveil.federation.deployment.assembly import assemble_release
from gridveil.federation.deployment.local_configs import write_configs
from gridveil.federation.deployment.processes import run_members
from gridveil.federation.partition.ownership import partition
from gridveil.federation.partition.slices import Slice
from gridveil.federation.partition.splitting import split
from gridveil.federation.partition.traffic import traffic
from gridveil.federation.protocol.settings import Run
from gridveil.network.network import Network
from gridveil.privacy.phase import LoadOwner, NoisyLoads, Origin, privatise_loads
from gridveil.publication.costs import Provenance

SAME = """Every party a process of its own, over Zenoh with mutual TLS and access control, α = 0.1,
β = 0.1. "Difference" is the largest between the loads, outputs and voltages that the parties
publish and those of the engine in one process, for the same noise; "verified" is `gridveil verify`
of the release put together from what the parties publish."""
PACE = """The time of an iteration as a party sees it (median over the iterations, the slowest
party), with two exchanges among neighbours each, and one with the coordinator every ten iterations.
Messages and bytes are those a party sends, on average; bytes before encryption."""


def study(path: Path, count: int, folder: Path) -> dict[str, Any]:
    """Run one federation and compare it."""
    network = load_case(path)
    costs = solve_acopf(network).generator_costs
    owned = partition(network, count)
    slices = split(network, owned, PublicCosts.published(costs, "this benchmark"))
    run = Run(
        id=f"{network.name}-{count}", parties=owned.parties, epsilon="1", alpha="0.1", beta=0.1,
        patience=60,
    )  # fmt: skip
    home = Path(tempfile.mkdtemp(dir=folder))
    ledger = home / "ledger"
    last: dict[str, Any] = {}
    write_configs(home, slices, run, ledger)
    started = time.perf_counter()
    contributions, outcome = run_members(home, slices, last.update)
    seconds = time.perf_counter() - started
    together = restore(
        network, noise(network, slices, run, ledger), costs, 0.1, "admm", agents=AgentOptions()
    )
    loads = {load.bus: (load.p, load.q) for one in contributions for load in one.loads}
    gens = {gen.number: (gen.p, gen.q) for one in contributions for gen in one.generators}
    buses = {bus.number: (bus.v, bus.theta) for one in contributions for bus in one.buses}
    point = together.point
    pairs = [
        (loads, network.load_buses, together.network.loads.values),
        (gens, (network.generators.row + 1).tolist(), np.stack([point.p, point.q], axis=1)),
        (buses, network.buses.number.tolist(), np.stack([point.v, point.theta], axis=1)),
    ]
    difference = max(
        float(np.abs(np.array([mine[name] for name in names]) - theirs).max(initial=0.0))
        for mine, names, theirs in pairs
    )
    made = assemble_release(
        network, contributions, Provenance.DERIVED, "raw loads", outcome.residuals
    )
    made.save(home / "release")
    progress = [one.progress for name, one in last.items() if name in owned.parties]
    return {
        "iterations": outcome.iterations,
        "together": together.agents.iterations if together.agents else 0,
        "difference": difference,
        "status": outcome.status.lower(),
        "verified": verify(home / "release").ok,
        "seconds": seconds,
        "median_ms": max(one["median_ms"] for one in progress),
        "messages": float(np.mean([one.get("messages_per_iteration", 0.0) for one in progress])),
        "bytes": float(np.mean([one.get("bytes_per_iteration", 0.0) for one in progress])),
        "links": len(traffic(network, owned)) // 2,
    }


def noise(network: Network, slices: list[Slice], run: Run, ledger: Path) -> NoisyLoads:
    """Return the noise that the parties drew, from the ledger where it stands."""
    mechanism = PolarLaplace.of(1, "0.1")
    drawn: dict[int, tuple[float, float]] = {}
    for part in (part for part in slices if part.loads):
        buses = part.load_buses
        owner = LoadOwner(part.network_id, part.network, part.base_mva, buses)
        name = f"{run.id}/{part.party}"
        own = privatise_loads(owner, part.true_loads(), mechanism, Ledger(ledger), name)
        drawn |= dict(zip(buses, zip(own.p, own.q, strict=True), strict=True))
    p, q = np.array([drawn[bus] for bus in network.load_buses]).T
    return NoisyLoads(p, q, mechanism.guarantee(), Origin.EXACT, run.id)


def same(nesta: Path, folder: Path) -> bool:
    rows, good = [], True
    for case in definitions()["table-polar-laplace"].study.cases:
        path = nesta / f"{case}.m"
        buses = len(load_case(path).buses)
        for count in sorted({min(count, buses) for count in (2, 5, 10)}):
            found = study(path, count, folder)
            rows.append(
                (
                    path.stem, count, found["links"], found["iterations"], found["together"],
                    found["status"], f"{found['difference']:.0e}",
                    "yes" if found["verified"] else "NO",
                    f"{found['median_ms']:.1f}",
                )
            )  # fmt: skip
            good &= found["difference"] <= 1e-12 and found["verified"]
            print(*rows[-1], flush=True)
    heads = ("case", "parties", "links", "iterations", "in one process", "status", "difference",
             "verified", "ms an iteration")  # fmt: skip
    write_table("federation", SAME, heads, rows)
    return good


def pace(nesta: Path, folder: Path) -> bool:
    rows, good = [], True
    for name in ("nesta_case39_epri", "nesta_case118_ieee"):
        for count in (2, 5, 10, 20):
            found = study(nesta / f"{name}.m", count, folder)
            rows.append(
                (
                    name, count, found["links"], found["iterations"], f"{found['median_ms']:.2f}",
                    f"{found['messages']:.1f}", f"{found['bytes']:,.0f}", f"{found['seconds']:.1f}",
                )
            )  # fmt: skip
            print(*rows[-1], flush=True)
            if count == 5:
                good &= found["median_ms"] <= 3.0
    heads = ("case", "parties", "links", "iterations", "ms an iteration", "messages", "bytes",
             "seconds in all, with start")  # fmt: skip
    write_table("federation_pace", PACE, heads, rows)
    return good


if __name__ == "__main__":
    nesta_folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    chosen = sys.argv[2] if len(sys.argv) > 2 else "both"
    with tempfile.TemporaryDirectory() as home_folder:
        os.environ["GRIDVEIL_LEDGER"] = str(Path(home_folder) / "unused")
        results = [
            task(nesta_folder, Path(home_folder))
            for name, task in (("same", same), ("pace", pace))
            if chosen in (name, "both")
        ]
    sys.exit(0 if all(results) else 1)
