"""The audit's game with a whole release folder as the output, and finding one load from its costs.

Run: .venv/bin/python -m benchmarks.folder_game [RELEASES]   (about half an hour on two cores)

The game: one of two networks is picked by a coin and released; they differ in one load, by just as
much as the promise hides: by 10 % (the default), or by 10 MVA. The player knows everything else
about both: all other loads, the true costs of either. It sees every byte of the folder, and guesses
where it is sure enough. Under ε-differential privacy a guess is right with probability at most
e^ε/(1 + e^ε), whatever it looks at; its hit rate bounds ε.

It plays by how near the released load is to either; by how near O* is to the true costs of either
network, and the optimal cost; by the best linear combination of all numbers of the folder; and by
the one number of the certificate, the loads and the case file, or length of a file, that speaks
most. A pilot decides how; the trials after it count.

The attack: with all other loads known, the load at which the network's optimal cost is ΣO*.
"""

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import write_table
from gridveil import GridveilError, Network, load_case, release, solve_acopf
from gridveil.defaults import EPSILON
from gridveil.network.formats.matpower_parser import read_matpower
from gridveil.privacy.audit.game import Score, flip_coins
from gridveil.privacy.audit.thresholds import Statistic, by_statistics, quantiles
from gridveil.privacy.mechanisms.relative_laplace import DEFAULT_FLOOR
from gridveil.publication.folder import CERTIFICATE, LOADS, NETWORK

GAME, LOAD = "case5_pjm", 0
"""The network of the game, and which load the player wonders about."""
ATTACKED = ("case14_ieee", "case39_epri", "case118_ieee")
RELEASES = 4000
MODES: Mapping[str, Mapping[str, str]] = {
    "private": {},
    "derived": {"costs": "derived", "declare_public": "costs"},
}
PROMISES = ("10%", "10MVA")
CONFIDENCE = 0.99
LEARN, CHOOSE = 0.25, 0.15
"""Shares of the trials to fit the combination on, and to choose thresholds and numbers on."""
_SHARES = np.geomspace(0.01, 1.0, 30)


def neighbours(network: Network, promise: str) -> tuple[Network, Network]:
    """Return the network, and the same with one load larger by what a promise hides."""
    p, q = network.loads.p.copy(), network.loads.q.copy()
    if promise == "10MVA":
        p[LOAD] += 10 / network.base_mva
    else:  # in the chart of relative noise, u = asinh(P/x0) grows by 0.1 and τ stays
        floor = float(DEFAULT_FLOOR)
        u, tau = np.arcsinh(p[LOAD] / floor), np.arcsinh(q[LOAD] / np.hypot(p[LOAD], floor))
        p[LOAD] = floor * np.sinh(u + 0.1)
        q[LOAD] = np.hypot(p[LOAD], floor) * np.sinh(tau)
    return network, network.with_loads(p, q)


def numbers(files: Mapping[str, bytes]) -> dict[str, float]:
    """Return every number of a folder by where it stands, and the length of every file."""
    found = {f"length of {name}": float(len(data)) for name, data in files.items()}
    found.update(_of_json(json.loads(files[CERTIFICATE]), "certificate"))
    for row, line in enumerate(files[LOADS].decode().splitlines()[1:]):
        for column, text in enumerate(line.split(",")):
            found[f"loads {row} {column}"] = float(text)
            found[f"loads {row} {column}, digits"] = float(len(text))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NETWORK
        path.write_bytes(files[NETWORK])
        tables = read_matpower(path).tables
    for name, table in tables.items():
        for place, value in np.ndenumerate(table.values):
            found[f"{name} {place}"] = float(value)
    return found


def _of_json(value: object, where: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _of_json(one, f"{where}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for i, one in enumerate(value):
            yield from _of_json(one, f"{where}.{i}")
    elif isinstance(value, int | float):
        yield where, float(value)
        digits = f"{value:.12e}".partition("e")[0].rstrip("0").replace(".", "")
        yield f"{where}, digits", float(len(digits))
        yield f"{where}, last digit", float(digits[-1:] or 0)


def play(
    networks: tuple[Network, Network], promise: str, mode: str, coin: bool
) -> dict[str, float] | None:
    """Release one of two networks, by noise of its own; None where it failed, which is seen too."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            ledger = Path(folder) / "ledger.sqlite"
            made = release(networks[not coin], ledger, hide=promise, **MODES[mode])
        except GridveilError:
            return None
    return numbers(made.files)


@dataclass(frozen=True)
class Knowledge:
    """What the player knows of the two networks: their load, and what they cost."""

    loads: tuple[float, float]
    """P of the load in MW."""
    costs: tuple[float, float]


def knowledge(networks: tuple[Network, Network]) -> Knowledge:
    one, other = networks
    p = (float(one.loads.p[LOAD] * one.base_mva), float(other.loads.p[LOAD] * one.base_mva))
    return Knowledge(p, (solve_acopf(one).cost, solve_acopf(other).cost))


def guess(
    seen: Sequence[Mapping[str, float] | None], coins: np.ndarray, known: Knowledge, error: float
) -> Score:
    """Return the best of five plays; each has its part of the error probability."""
    keys = sorted({key for one in seen if one is not None for key in one})
    table = np.array([[np.nan if one is None else one.get(key, np.nan) for key in keys]
                      for one in seen])  # fmt: skip
    columns = {key: table[:, i] for i, key in enumerate(keys)}
    missing = np.isnan(table)
    middle = np.nan_to_num(np.nanmedian(table, axis=0))
    filled = np.where(missing, middle, table)
    features = np.hstack([filled, missing.astype(float)])
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    plays = (
        [_nearer(columns[f"loads {LOAD} 1"], known.loads)],
        [_nearer(columns["certificate.fidelity.cost_target"], known.costs)],
        [_nearer(columns["certificate.fidelity.cost_optimal"], known.costs)],
        [_combined(features, coins, int(LEARN * len(coins)))],
        features.T,
    )
    found = []
    for values in plays:
        statistics = (Statistic(one, quantiles(one, _SHARES)) for one in values)
        found.append(by_statistics(statistics, coins, error / len(plays), LEARN, CHOOSE))
    return max(found, key=lambda play: play.bound)


def _combined(features: np.ndarray, coins: np.ndarray, pilot: int) -> np.ndarray:
    """Return the linear combination that tells the two networks apart best on the pilot."""
    ridge = pilot * np.eye(features.shape[1]) * 0.01
    fitted = features[:pilot]
    weights = np.linalg.solve(fitted.T @ fitted + ridge, fitted.T @ np.where(coins[:pilot], 1, -1))
    return np.asarray(features @ weights)


def _nearer(values: np.ndarray, known: tuple[float, float]) -> np.ndarray:
    """Return which of two numbers is nearer, and how near it is."""
    one, other = (np.abs(values - number) for number in known)
    return np.nan_to_num(np.sign(other - one) / (1e-6 * abs(known[0]) + np.minimum(one, other)))


def game(promise: str, mode: str, trials: int, jobs: int = 2) -> Score:
    """Play the game in one mode."""
    networks = neighbours(load_case(GAME), promise)
    coins = flip_coins(trials)
    seen = Parallel(n_jobs=jobs)(delayed(play)(networks, promise, mode, bool(c)) for c in coins)
    return guess(seen, coins, knowledge(networks), 1 - CONFIDENCE)


def load_from_costs(network: Network, load: int, total: float, rounds: int = 12) -> float:
    """Return P in p.u. of one load at which the optimal cost is a total, all others being known.

    Newton's method, whose derivative is the locational price; the start is twice the load.
    """
    p = network.loads.p.copy()
    p[load] *= 2
    for _ in range(rounds):
        found = solve_acopf(network.with_loads(p, network.loads.q))
        price = found.active_price[network.loads.bus[load]] * network.base_mva
        step = (total - found.cost) / price
        if not (found.status.solved and math.isfinite(step)):
            return math.nan
        p[load] += step
        if abs(step) < 1e-9:
            break
    return float(p[load])


def attack(case: str, promise: str, mode: str) -> list[float]:
    """Return by how many MW the attack misses each load of a network, from one folder."""
    network = load_case(case)
    with tempfile.TemporaryDirectory() as folder:
        made = release(network, Path(folder) / "ledger.sqlite", hide=promise, **MODES[mode])
    total = made.certificate.fidelity.cost_target
    found = [load_from_costs(network, load, total) for load in np.flatnonzero(network.loads.p > 0)]
    true = network.loads.p[network.loads.p > 0]
    return (np.abs(np.array(found) - true) * network.base_mva).tolist()


def attack_rows() -> Iterator[list[object]]:
    tasks = [(case, promise, mode) for case in ATTACKED for promise in PROMISES for mode in MODES]
    for (case, promise, mode), errors in zip(
        tasks, Parallel(n_jobs=2)(delayed(attack)(*task) for task in tasks), strict=True
    ):
        told = [error for error in errors if math.isfinite(error)]
        median = f"{np.median(told):.3g} MW" if told else "nothing found"
        yield [
            f"attack on {case}", promise, mode, f"each of {len(errors)} loads from one folder",
            f"{len(told)} loads found, to {median} (median)",
        ]  # fmt: skip


def main(releases: int) -> int:
    rows: list[list[object]] = []
    bounds = {}
    for promise, mode in product(PROMISES, MODES):
        score = game(promise, mode, releases)
        bounds[promise, mode] = score.bound
        rows.append([
            f"game on {GAME}", promise, mode, f"{releases} releases",
            f"{score.hits} of {score.guesses} guesses right: ε ≥ {score.bound:.3f}",
        ])  # fmt: skip
        print(*rows[-1], flush=True)
    rows += attack_rows()
    write_table(
        "folder_game",
        f"The whole folder attacked. Claimed is ε = {EPSILON} for the change of a load that is "
        f"hidden, which is that of the game; the bound holds at {CONFIDENCE:.0%} confidence. The "
        "player and the attacker know all other loads.",
        ("what", "hidden", "costs", "from", "found"),
        rows,
    )
    claimed = float(EPSILON)
    return sum(not bounds[p, "private"] <= claimed < bounds[p, "derived"] for p in PROMISES)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES))
