"""Runs jobs on a GPU, or in Numba's simulator of one if the environment says so."""

import pickle
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from gridveil.admm import engine
from gridveil.admm.draw import Draw
from gridveil.admm.engine import run_agents, run_together
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions


@dataclass(frozen=True)
class Job:
    """One draw alone, or several together."""

    layout: Layout
    draws: list[Draw]
    options: AgentOptions
    at_once: int | None = None
    """How many draws fit; None for all."""
    stop_after: int | None = None
    """The number of finished draws at which the run is stopped."""


def run(jobs):
    """Run jobs one after the other; return the results of their draws."""
    return [_run(job) for job in jobs]


def _run(job):
    stop = threading.Event()
    if len(job.draws) == 1:
        return [run_agents(job.layout, job.draws[0], job.options, stop)]

    def on_progress(finished):
        if finished == job.stop_after:
            stop.set()

    with pytest.MonkeyPatch.context() as patch:
        if job.at_once is not None:
            patch.setattr(engine, "batch_size", lambda *_: job.at_once)
        return run_together(job.layout, job.draws, job.options, stop, on_progress)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_bytes(pickle.dumps(run(pickle.loads(source.read_bytes()))))
