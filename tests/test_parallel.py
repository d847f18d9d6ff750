"""Workers end with the process that began them, whether they had a task or not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SOON = 20
"""Seconds in which workers have to be gone; they look every second."""
PARENT = """
import time
from gridveil import parallel

def main():
    tasks = [(0, time.sleep, (60,)), (1, time.sleep, (60,)), (2, time.sleep, (60,))]
    list(parallel.in_parallel(tasks, 3))

main()
"""


def children(pid):
    """Return the processes that a process has begun."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found.append(int(process.name))
    return found


def wait_for(condition):
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def killed_when(ready):
    """Kill a process with workers at some moment; return the workers that it had."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT])
    try:
        wait_for(lambda: ready(children(parent.pid)))
        workers = children(parent.pid)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    return workers


def test_workers_end_with_a_killed_parent():
    for ready in (
        lambda found: len(found) >= 2,  # the first is begun, and has no task yet
        lambda found: len(found) >= 4,  # three, and the tracker of their resources
    ):
        workers = killed_when(ready)
        wait_for(lambda workers=workers: not alive(workers))
