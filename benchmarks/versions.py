"""The speed of two versions of Gridveil, by the same commands, in alternation.

    python -m benchmarks.versions OLD/bin/gridveil NEW/bin/gridveil --repeats 7

Each command runs once to warm up (compilation, caches), then `repeats` times on either side in
turn. A release is made anew from what a common ledger holds, so that both restore the same noise.
Times are of the processor, user and system: on a busy machine the wall clock says little.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

COMMANDS = {
    "start of the program": ["cases", "case5_pjm"],
    "AC-OPF, 118 buses": ["solve", "case118_ieee"],
    "AC-OPF, 1,354 buses": ["solve", "case1354_pegase"],
    "agents, 118 buses": [
        "simulate", "case118_ieee", "--method", "admm", "--unchecked", "--tolerance", "0",
        "--max-iterations", "5000",
    ],
    "agents, 1,354 buses": [
        "simulate", "case1354_pegase", "--method", "admm", "--unchecked", "--tolerance", "0",
        "--max-iterations", "1000",
    ],
    "release, 39 buses": ["release", "case39_epri", "--method", "bilevel", "--release-id", "39"],
    "release, 118 buses, agents": [
        "release", "case118_ieee", "--method", "admm", "--release-id", "118",
    ],
    "release, 1,354 buses": [
        "release", "case1354_pegase", "--method", "central", "--release-id", "1354",
    ],
    "audit": ["audit", "--mechanism", "polar-laplace", "--trials", "60000"],
}  # fmt: skip
LIMITED = (0, 3)
"""Exit statuses that count: agents at tolerance 0 end at their limit."""


def seconds(program: str, arguments: list[str], folder: Path) -> float:
    """Return the processor time of a command, start and end of Python included."""
    command = [program, *arguments]
    if arguments[0] == "release":
        shutil.rmtree(folder / "out", ignore_errors=True)
        command += ["--ledger", str(folder / "ledger.sqlite"), "-o", str(folder / "out"), "-q"]
    before = os.times()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    taken = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    if result.returncode not in LIMITED:
        raise SystemExit(f"{' '.join(command)}: {result.stderr}")
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print("| command | old, s (best, median) | new, s (best, median) | new/old, best | median |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for label, arguments in COMMANDS.items():
            programs = (options.old, options.new)
            for program in programs:
                seconds(program, arguments, Path(name))
            taken = np.array(
                [
                    [seconds(program, arguments, Path(name)) for program in programs]
                    for _ in range(options.repeats)
                ]
            )
            best, middle = taken.min(axis=0), np.median(taken, axis=0)
            print(
                f"| {label} | {best[0]:.2f}, {middle[0]:.2f} | {best[1]:.2f}, {middle[1]:.2f} "
                f"| {best[1] / best[0]:.3f} | {middle[1] / middle[0]:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
