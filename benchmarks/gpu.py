"""Runs the agents on a GPU, from 118 to 78,484 buses, one draw and 50, with the CPU beside it.

Run:  .venv/bin/python -m benchmarks.gpu prepare FOLDER   (20 minutes of AC-OPFs, on any machine)
then: .venv/bin/python -m benchmarks.gpu measure FOLDER   (three minutes, on one with a GPU)

The folder takes what needs no GPU: the public costs O*, and the central solutions up to 30,000
buses. It may be copied from the one machine to the other.
"""

import platform
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.report import write_table
from gridveil import AgentOptions, PolarLaplace, load_case, restore, simulate_loads, solve_acopf
from gridveil.admm.backends.cuda.workspace import bytes_for_all, bytes_per_draw
from gridveil.admm.draw import make_draw
from gridveil.admm.engine import run_agents, run_together
from gridveil.admm.history import History
from gridveil.admm.initial_state import initial_states
from gridveil.admm.layout import Layout, build_layout
from gridveil.admm.result import AgentRun
from gridveil.admm.start import Start
from gridveil.arrays import FloatArray
from gridveil.device import Device
from gridveil.fidelity.bands import cost_bands
from gridveil.network.network import Network

CASES = (
    "pglib_opf_case118_ieee", "case1354_pegase", "case2869_pegase", "case9241_pegase",
    "case30000_goc", "case78484_epigrids",
)  # fmt: skip
SETTLED = (
    "case14_ieee", "case30_ieee", "case57_ieee", "pglib_opf_case118_ieee", "case300_ieee",
    "case1354_pegase",
)  # fmt: skip
"""Networks whose agents come to an end, so that their loads can be compared there."""
LARGEST_CENTRAL = 30_000
BETA, SEED, DRAWS, ITERATIONS = 0.1, 1, 50, 5000
COMPARED = 100
MANY_AT_LEAST = 20_000
"""Buses from which on 50 draws do a tenth of the iterations."""


def problem(name: str, folder: Path) -> tuple[Network, Layout, FloatArray]:
    network = load_case(name)
    costs = np.load(folder / f"{name}.npz")["costs"]
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), SEED)
    layout = build_layout(network, [band.intervals for band in cost_bands(network, costs, BETA)])
    return network, layout, np.concatenate([noisy.p, noisy.q])


def prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys((*SETTLED, *CASES)):
        network = load_case(name)
        opf = solve_acopf(network)
        assert opf.status.solved, name
        found = {"costs": opf.generator_costs}
        if len(network.buses) <= LARGEST_CENTRAL:
            noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), SEED)
            central = restore(network, noisy, opf.generator_costs, BETA, "central")
            assert central.status.solved, name
            found["central"] = central.network.loads.values
        np.savez(folder / f"{name}.npz", **found)
        print(name, f"AC-OPF {opf.solve_seconds:.1f} s", flush=True)


def timed(layout: Layout, noisy: FloatArray, device: str, **options: float) -> AgentRun:
    """Run one draw."""
    chosen = AgentOptions(device=device, start=Start.FLAT, **options)  # type: ignore[arg-type]
    return run_agents(layout, make_draw(noisy), chosen, threading.Event())


def reached(history: History, primal: float, seconds: float) -> str:
    """Return when the primal residual gets within a limit, for the first time and for good."""
    within = history.primal <= primal
    if not within.any():
        return "not"
    first = int(np.argmax(within)) + 1
    rest = np.flatnonzero(~within)
    good = int(rest[-1]) + 2 if len(rest) else 1
    pace = seconds / len(history)
    if good > len(history):
        return f"{first:,} ({first * pace:.2f} s); not for good"
    return f"{first:,} ({first * pace:.2f} s); {good:,} ({good * pace:.2f} s)"


def apart(one: History, other: History) -> float:
    """Return the largest relative difference of two histories' residuals."""
    pairs = ((one.primal, other.primal), (one.dual, other.dual))
    return max(float(np.abs(a / b - 1).max()) for a, b in pairs)


def least_bytes(layout: Layout) -> int:
    """Return what an iteration must read and write, each array once."""
    lines, ports, ends = len(layout.rate), len(layout.port_p), len(layout.end_w)
    agents = lines * (24 + 19 + 5 + 13) + 5 * (layout.size - 8 * lines)
    buses = ports * 9 + ends * 8 + 6 * len(layout.shunt_g)
    multipliers = 7 * layout.size + 4 * layout.groups
    return 8 * (agents + buses + multipliers)


def bandwidth() -> float:
    """Return how many bytes per second a copy within the GPU reads and writes."""
    from numba import cuda

    source, target = (cuda.device_array(1 << 28, dtype=np.float64) for _ in range(2))
    start, end = cuda.event(), cuda.event()
    target.copy_to_device(source)
    start.record()
    for _ in range(10):
        target.copy_to_device(source)
    end.record()
    end.synchronize()
    return 10 * 2 * source.nbytes / (1e-3 * float(cuda.event_elapsed_time(start, end)))


def busy_share(layout: Layout, noisy: FloatArray) -> float:
    """Return the GPU's own time for 500 iterations, over the time of the next 500 in a run.

    Gaps between the kernels of a graph count as its own time.
    """
    from numba import cuda

    from gridveil.admm.backends.cuda.backend import CudaBackend

    options = AgentOptions(tolerance=0.0, device=Device.GPU, start=Start.FLAT)
    states = initial_states(layout, [make_draw(noisy)], options.policy, options.start)
    backend = CudaBackend(layout, [make_draw(noisy)], states, options)
    backend.advance(500)
    start, end = cuda.event(), cuda.event()
    start.record(backend.stream)
    backend.put(500)
    end.record(backend.stream)
    end.synchronize()
    started = time.perf_counter()
    backend.advance(500)
    whole = time.perf_counter() - started
    backend.close()
    return 1e-3 * float(cuda.event_elapsed_time(start, end)) / whole


def megabytes(layout: Layout, draws: int) -> float:
    """Return the size of all arrays on the GPU."""
    return (bytes_for_all(layout) + draws * bytes_per_draw(layout)) / 1e6


def measured(folder: Path) -> Iterator[tuple[object, ...]]:
    copy = bandwidth()
    print(f"copying: {copy / 1e12:.2f} TB/s", flush=True)
    for name in CASES:
        started = time.perf_counter()
        network, layout, noisy = problem(name, folder)
        prepared = time.perf_counter() - started
        cpu = timed(layout, noisy, "cpu", max_iterations=COMPARED, tolerance=0.0)
        timed(layout, noisy, "cuda", max_iterations=COMPARED, tolerance=0.0)  # compiles
        run = timed(layout, noisy, "cuda", max_iterations=ITERATIONS, tolerance=0.0)
        stretch = History(*(column[:COMPARED] for column in vars(run.history).values()))
        difference = apart(stretch, cpu.history)
        busy, pace = busy_share(layout, noisy), run.seconds / ITERATIONS
        data = np.load(folder / f"{name}.npz")
        distance = moved = "–"
        if "central" in data:
            p, q = run.state.x[: len(noisy)].reshape(2, -1)
            central = data["central"]
            distance = f"{np.linalg.norm(np.stack([p, q], axis=1) - central):.1e}"
            moved = f"{np.linalg.norm(central - noisy.reshape(2, -1).T):.1e}"
        draws = [
            make_draw(np.concatenate([one.p, one.q]))
            for seed in range(DRAWS)
            if (one := simulate_loads(network, PolarLaplace.of(1, 0.1), seed))
        ]
        many = ITERATIONS // (10 if len(network.buses) >= MANY_AT_LEAST else 1)
        options = AgentOptions(
            max_iterations=many, tolerance=0.0, device=Device.GPU, start=Start.FLAT
        )
        runs = run_together(layout, draws, options, threading.Event())
        all_seconds = max(one.seconds for one in runs)
        row = (
            f"{len(network.buses):,}",
            f"{len(network.lines):,}",
            f"{prepared:.1f} s",
            f"{1e6 * pace:.0f} µs",
            f"{run.seconds:.2f} s",
            f"{1e6 * cpu.seconds / COMPARED:,.0f} µs",
            reached(run.history, 1e-3, run.seconds),
            reached(run.history, 1e-4, run.seconds),
            f"{run.primal:.0e}",
            f"{run.dual:.0e}",
            distance,
            moved,
            f"{megabytes(layout, 1):.1f} MB",
            f"{1e6 * all_seconds / many:,.0f} µs",
            f"{all_seconds * ITERATIONS / many:.2f} s{'' if many == ITERATIONS else ' (from 500)'}",
            f"{megabytes(layout, DRAWS):,.0f} MB",
            f"{difference:.0e}",
            f"{busy:.0%}",
            f"{least_bytes(layout) / copy / pace:.0%}",
        )
        print(*row, flush=True)
        yield row


def settled(folder: Path) -> str:
    """Compare where runs end on a CPU and on a GPU."""
    found = []
    for name in SETTLED:
        network, layout, noisy = problem(name, folder)
        runs = [
            timed(layout, noisy, device, max_iterations=30_000, tolerance=1e-7)
            for device in ("cpu", "cuda")
        ]
        loads = [one.state.x[: len(noisy)] for one in runs]
        found.append(
            f"{len(network.buses):,} buses {np.abs(loads[0] - loads[1]).max():.0e} p.u. "
            f"({runs[0].iterations:,} and {runs[1].iterations:,} iterations, "
            f"{runs[1].status.name.lower()})"
        )
        print(found[-1], flush=True)
    return "; ".join(found)


def measure(folder: Path) -> None:
    from numba import cuda

    rows = list(measured(folder))
    device = cuda.get_current_device()
    name = device.name if isinstance(device.name, str) else device.name.decode()
    intro = (
        f"{name}, Python {platform.python_version()}. α = 0.1, β = 0.1, policy `fast`, flat "
        "start, double precision, 5,000 iterations whatever the residuals. Where the primal "
        "residual gets below 1e-3 and 1e-4: for the first time, and for good. 'Prepared' is from "
        "the file to the agents' layout, given O*. The CPU is that of the same machine, one "
        "thread for 118 buses and else all cores, in the first 100 iterations. Memory is that of "
        "all arrays, computed. 'Difference' is the largest relative one between the residuals on "
        "the CPU and on the GPU, of the first 100 iterations. 'Busy' is the GPU's own time for a "
        "queue of iterations, gaps between its kernels included, over the wall's; 'limit' is the "
        "time its memory would need for the least that an iteration reads and writes, over the "
        "whole. Of case78484_epigrids' buses six are out of service.\n\nLargest difference of a "
        "load where runs end, tolerance 1e-7, CPU and GPU: "
        f"{settled(folder)}."
    )
    headings = (
        "buses", "lines", "prepared", "iteration", "5,000", "iteration, CPU",
        "primal 1e-3", "primal 1e-4", "primal", "dual", "distance to central",
        "central displacement", "memory", "iteration of 50 draws", "5,000 of 50 draws",
        "memory of 50 draws", "difference", "busy", "limit",
    )  # fmt: skip
    write_table("gpu", intro, headings, rows)


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in ("prepare", "measure"):
        print(__doc__)
        return 2
    {"prepare": prepare, "measure": measure}[sys.argv[1]](Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
