"""Makes and verifies releases of many networks with every method, through the command line.

Run: .venv/bin/python -m benchmarks.releases [NESTA_FOLDER]   (about five minutes on two cores)
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import track

from benchmarks.baselines import nesta_costs
from benchmarks.fidelity import SHARED
from benchmarks.report import write_table

PGLIB = (
    "case3_lmbd", "case5_pjm", "case14_ieee", "case24_ieee_rts", "case30_ieee", "case39_epri",
    "case57_ieee", "case60_c", "case73_ieee_rts", "case118_ieee",
)  # fmt: skip
METHODS = ("central", "bilevel", "admm")
GRIDVEIL = Path(sys.executable).with_name("gridveil")


def run(case: str, method: str) -> tuple[str, str, bool, float, str]:
    """Make one release and verify it; return case, method, verdict, seconds and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GRIDVEIL_LEDGER": f"{folder}/ledger.sqlite"}
        out = f"{folder}/out"
        command = [GRIDVEIL, "release", case, "--method", method, "-o", out, "-q"]
        started = time.perf_counter()
        made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        if made.returncode:
            return case, method, False, seconds, " ".join(made.stderr.split())
        checked = subprocess.run(
            [GRIDVEIL, "verify", out, "--json"], capture_output=True, text=True, check=False
        )
        claims = json.loads(checked.stdout)
        broken = [claim["name"] for claim in claims["claims"] if not claim["ok"]]
        return case, method, claims["ok"], seconds, ", ".join(broken)


def main(nesta: Path) -> int:
    cases = [str(nesta / f"{name}.m") for name in nesta_costs(nesta)] + list(PGLIB)
    tasks = list(itertools.product(cases, METHODS))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(track(pool.map(lambda task: run(*task), tasks), "releasing", len(tasks)))
    rows = []
    for case in cases:
        own = {method: rest for name, method, *rest in done if name == case}
        rows.append(
            [
                Path(case).stem,
                *(
                    f"{'verified' if ok else 'FAILED: ' + said}, {seconds:.1f} s"
                    for ok, seconds, said in own.values()
                ),
            ]
        )
    failed = sum(not ok for _, _, ok, _, _ in done)
    intro = (
        "`gridveil release CASE --method METHOD` with ε = 1, α = 0.1, β = 0.01, "
        f"then `gridveil verify`: {len(done) - failed} of {len(done)} verified. Times "
        f"are of the whole command, {os.cpu_count()} at a time."
    )
    write_table("releases", intro, ("case", *METHODS), rows)
    print(intro)
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED))
