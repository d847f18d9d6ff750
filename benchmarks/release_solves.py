"""How many programs a release solves, and with how many iterations: of two versions, or of one.

    python -m benchmarks.release_solves [--before FOLDER] [--solver auto] [CASE …]

FOLDER is a checkout of another version: `git worktree add FOLDER main`. Both restore the same draw,
kept in one ledger, and a third of the rows is `gridveil verify`. Iterations count every call of a
solver, those that led nowhere too.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import write_table

CASES = ("case118_ieee", "case1354_pegase")
METHODS = ("central", "bilevel", "admm")
HEADINGS = (
    "case", "method", "what", "solves before", "solves", "iterations before", "iterations",
    "seconds before", "seconds", "optimal cost, relative difference", "loads, largest difference",
)  # fmt: skip


def counted() -> list[int]:
    """Count the iterations of every call of a solver from now on."""
    from gridveil.opf import ipopt, solvers

    calls: list[int] = []

    def counting(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            solution = function(*arguments, **options)
            calls.append(solution.iterations)
            return solution

        return call

    ipopt.minimise = counting(ipopt.minimise)
    solvers.minimise_one = counting(solvers.minimise_one)
    return calls


def measured(case: str, method: str, solver: str, folder: Path) -> dict[str, Any]:
    from gridveil import AgentOptions, load_case, release, using, verify

    agents = AgentOptions(polish=True, notify=str) if method == "admm" else None
    network, ledger = load_case(case), folder / "ledger.sqlite"
    choices: dict[str, Any] = {"method": method, "agents": agents, "release_id": "counted"}
    choices |= {"hide": "10%", "epsilon": 1, "beta": "0.05"}
    with using(solver):
        release("case5_pjm", ledger, **{**choices, "release_id": "compiles"})
        calls = counted()
        started = time.perf_counter()
        made = release(network, ledger, **choices)
        seconds = time.perf_counter() - started
        released = list(calls)
        calls.clear()
        out = folder / f"out-{os.getpid()}"
        made.save(out)
        started = time.perf_counter()
        assert verify(out).ok
        verified = time.perf_counter() - started
    loads = made.published.network.loads.values
    return {
        "release": (len(released), sum(released), seconds),
        "verify": (len(calls), sum(calls), verified),
        "each": released,
        "cost": made.certificate.fidelity.cost_optimal,
        "loads": loads.tolist(),
    }


def of_version(source: Path, *arguments: str) -> dict[str, Any]:
    """Measure in a process that has the sources of a version."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source / "src"), str(Path.cwd())]),
    }
    command = [sys.executable, "-m", "benchmarks.release_solves", "--child", *arguments]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def rows(case: str, method: str, solver: str, before: Path | None) -> list[list[object]]:
    with tempfile.TemporaryDirectory() as folder:
        sources = [Path.cwd() if before is None else before, Path.cwd()]
        old, new = (of_version(one, case, method, solver, folder) for one in sources)
    print(case, method, "before", old["each"], "now", new["each"], flush=True)
    apart = max(
        abs(a - b) for x, y in zip(old["loads"], new["loads"], strict=True)
        for a, b in zip(x, y, strict=True)
    )  # fmt: skip
    relative = abs(old["cost"] / new["cost"] - 1)
    made = []
    for what in ("release", "verify"):
        (n, i, s), (m, j, t) = old[what], new[what]
        same = (f"{relative:.0e}", f"{apart:.0e}") if what == "release" else ("", "")
        made.append([case, method, what, n, m, i, j, f"{s:.2f}", f"{t:.2f}", *same])
    return made


def main(cases: list[str], solver: str, before: Path | None) -> None:
    found = [
        row for case in cases for method in METHODS for row in rows(case, method, solver, before)
    ]
    intro = (
        "Releases of `--hide 10%` at ε = 1 and β = 5 %: one draw for each row, restored by both "
        f"versions. Solver: {solver}. Seconds are rough: the machine was shared."
    )
    write_table("release_solves", intro, HEADINGS, found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        case, method, solver, folder = sys.argv[2:]
        print(json.dumps(measured(case, method, solver, Path(folder))))
    else:
        parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
        parser.add_argument("cases", nargs="*", default=CASES)
        parser.add_argument("--before", type=Path)
        parser.add_argument("--solver", default="auto")
        asked = parser.parse_args()
        main(list(asked.cases), asked.solver, asked.before)
