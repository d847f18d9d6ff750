"""Runs jobs where the environment says CUDA is: on a GPU, or in Numba's simulator of one."""

import pickle
import sys
import threading
from pathlib import Path

from gridveil.admm.engine import run_agents, run_together


def run(jobs):
    """Run jobs, each a layout, its draws and options: one draw alone, or several together."""
    found = []
    for layout, draws, options in jobs:
        stop = threading.Event()
        if len(draws) == 1:
            found.append([run_agents(layout, draws[0], options, stop)])
        else:
            found.append(run_together(layout, draws, options, stop))
    return found


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_bytes(pickle.dumps(run(pickle.loads(source.read_bytes()))))
