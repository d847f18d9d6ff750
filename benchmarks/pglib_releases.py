"""Releases every PGLib case up to 3,000 buses, `__api` and `__sad` too, and looks for raw loads.

Run: .venv/bin/python -m benchmarks.pglib_releases ROWS.jsonl [SMALLEST] [LARGEST]
     (about an hour and a half on one core; a run that was stopped goes on where it was)

Networks of up to 300 buses are released by all methods, larger ones by the default. Each release is
verified, and then searched by a scan of this script's own: no number of a file of data may be equal
to a raw P, Q or |S|, in MW or p.u., of three digits or more, unless it also stands in the public
part of the source. Thousands of numbers and loads agree by chance now and then. So where one does,
the folder is made again from the same private loads by a network with other raw loads. If every
byte is the same, the number does not come from a raw load: it is a coincidence, and counted apart.
The report is no file of data; that it is the one which the other files give, byte by byte, is a
claim that `verify` recomputes.
"""

import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import write_table
from gridveil import GridveilError, Network, Release, load_case, release, verify
from gridveil.network.case_file import COLUMNS
from gridveil.network.library import case_size, find_case, list_cases

BETA = 0.05
SMALL, LARGE = 300, 3000
METHODS = ("bilevel", "central", "admm")
DATA = ("network.m", "loads.csv", "certificate.json", "history.csv")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
SECRET = ("Pd", "Qd", "Vm", "Va", "Pg", "Qg", "Vg")


def tasks(smallest: int, largest: int) -> Iterator[tuple[int, str, str]]:
    for entry in list_cases():
        buses = case_size(entry.path).buses if entry.collection == "PGLib" else 0
        if smallest <= buses <= largest:
            for method in METHODS if buses <= SMALL else METHODS[:1]:
                yield buses, entry.name, method


def public_numbers(network: Network) -> set[float]:
    """Return the public numbers of the source file's tables without sign, and small whole ones."""
    found = set(map(float, range(1000)))
    for name in ("bus", "gen", "branch", "gencost"):
        table = network.case.tables[name]
        for i, column in enumerate(table.values.T):
            if i >= len(COLUMNS[name]) or COLUMNS[name][i] not in SECRET:
                found.update(np.abs(column).tolist())
    return found


def raw_numbers(network: Network) -> set[float]:
    """Return raw P, Q and |S| of every row of the bus table, in MW and in p.u."""
    bus, base = network.case.tables["bus"], network.base_mva
    p, q = bus.column("Pd"), bus.column("Qd")
    powers = np.abs(np.concatenate([p, q, np.hypot(p, q)]))
    return {*powers.tolist(), *(powers / base).tolist()}


def leaks(folder: Path, network: Network) -> list[str]:
    """Say where a raw number stands in a file of data."""
    secret = raw_numbers(network) - public_numbers(network)
    found = []
    for name in DATA:
        path = folder / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for match in NUMBER.finditer(text):
            digits = match[0].lstrip("+-0.").replace(".", "")
            if len(digits) >= 3 and abs(float(match[0])) in secret:
                found.append(f"{name}: character {match.start()}")
    return found


def does_without(network: Network, ledger: Path, choices: Mapping[str, Any], made: Release) -> bool:
    """Whether the same private loads give the same bytes where the raw loads are others."""
    p, q = network.loads.p, network.loads.q
    other = network.with_loads(2 * p[::-1] + 0.1, q[::-1] - 0.3)
    again = release(other, ledger, release_id=made.certificate.release_id, **choices)
    return again.files == made.files


def row(buses: int, name: str, method: str) -> dict[str, object]:
    network = load_case(find_case(name))
    told: dict[str, object] = {"buses": buses, "case": name, "method": method}
    choices = {"beta": BETA, "method": method}
    with tempfile.TemporaryDirectory() as folder:
        out, ledger, started = Path(folder) / "out", Path(folder) / "l", time.perf_counter()
        try:
            made = release(network, ledger, **choices)
        except GridveilError as error:
            return {**told, "failed": str(error)}
        told["release_seconds"] = time.perf_counter() - started
        made.save(out)
        started = time.perf_counter()
        checked = verify(out)
        told["verify_seconds"] = time.perf_counter() - started
        told["broken"] = [claim.name for claim in checked.claims if not claim.ok]
        told["whole"] = checked.private_as_a_whole
        told["share"] = made.certificate.protection.epsilon_costs
        told["gap"] = made.certificate.fidelity.cost_gap_optimal
        found = leaks(out, network)
        chance = bool(found) and does_without(network, ledger, choices, made)
        told["coincidences"], told["leaks"] = (found, []) if chance else ([], found)
    return told


def summary(rows: list[dict]) -> Iterator[list[object]]:
    sizes = ((1, 30), (31, 120), (121, 300), (301, 1000), (1001, 2000), (2001, LARGE))
    for low, high in sizes:
        for method in METHODS:
            own = [r for r in rows if low <= r["buses"] <= high and r["method"] == method]
            made = [r for r in own if "failed" not in r]
            if own:
                seconds = [r["release_seconds"] for r in made]
                yield [
                    f"{low}–{high}", method, len(own), len(made),
                    sum(not r["broken"] and bool(r["whole"]) for r in made),
                    sum(bool(r["leaks"]) for r in made),
                    sum(bool(r["coincidences"]) for r in made),
                    f"{np.median(seconds):.1f} / {max(seconds):.1f}",
                    f"{max(abs(r['gap']) for r in made):.2%}",
                ]  # fmt: skip


def main(path: Path, smallest: int, largest: int) -> int:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(r["case"], r["method"]) for r in rows}
    wanted = sorted(tasks(smallest, largest))
    for i, (buses, name, method) in enumerate(wanted, 1):
        if (name, method) in done:
            continue
        rows.append(row(buses, name, method))
        with path.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        state = rows[-1].get("failed") or rows[-1]["broken"] or rows[-1]["leaks"] or "ok"
        print(f"{i} of {len(wanted)}: {name} {method}: {state}", flush=True)
    failed = [r for r in rows if "failed" in r or r["broken"] or r["leaks"]]
    write_table(
        "pglib_releases",
        f"Every PGLib case up to {LARGE:,} buses, released at the default promise (10 % of each "
        f"load, ε = 1) and β = {BETA:g} with private costs, verified, "
        "and searched for raw loads by a scan of the script's own. "
        f"{len(rows)} releases of {len({r['case'] for r in rows})} networks; failed: "
        + (", ".join(f"{r['case']} {r['method']}" for r in failed) or "none")
        + ". The gap is that of the optimal cost against O*, which `bilevel` alone promises.",
        ("buses", "method", "releases", "made", "verified, private as a whole", "with a raw load",
         "with a coincidence", "seconds, median / largest", "largest gap"),
        summary(rows),
    )  # fmt: skip
    return bool(failed)


if __name__ == "__main__":
    bounds = [int(number) for number in sys.argv[2:4]]
    sys.exit(main(Path(sys.argv[1]), *(bounds or [1]), *([LARGE] if len(bounds) < 2 else [])))
