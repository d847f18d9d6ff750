"""Everything `gridveil reproduce all` runs, with the time it takes.

Run: .venv/bin/python -m benchmarks.reproduction [NESTA_FOLDER] [OUTPUT]   (20 minutes on two cores)
"""

import os
import sys
import time
from pathlib import Path

from benchmarks.fidelity import SHARED
from benchmarks.report import write_table
from gridveil.experiments.paper.page import replacement_note
from gridveil.experiments.paper.reproduce import reproduce


def main(nesta: Path, output: Path) -> int:
    if nesta.is_dir():
        os.environ["GRIDVEIL_CASES"] = str(nesta)
    started = time.perf_counter()
    found = reproduce("all", output, progress=lambda *progress: print(*progress, flush=True))
    minutes = (time.perf_counter() - started) / 60
    cases = (
        replacement_note(found.replaced)
        if found.replaced
        else "All networks are the paper's own (NESTA)."
    )
    intro = (
        f"`gridveil reproduce all` took {minutes:.1f} minutes (the paper's two tables alone: 703 "
        f"minutes of simulation). {cases} Drawings and all numbers: run it."
    )
    rows = [(one.definition.name, text) for one in found.figures for text in one.result.findings]
    write_table("reproduction", intro, ("table or figure", "measured"), rows)
    return 0


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    sys.exit(main(folder, Path(sys.argv[2] if len(sys.argv) > 2 else "reproduction")))
