"""The interior-point method on a GPU, beside itself on a CPU and Ipopt: one network, and batches.

Run on a machine with an NVIDIA GPU, CuPy and cuDSS 1.0 (`pip install 'gridveil[cuda]'`), from the
project's folder; a network is a name of PGLib's or a case file:
    python -m benchmarks.interior_point_gpu [NETWORK …] > benchmarks/results/interior_point_gpu.md

For each network's AC-OPF: the patterns of derivatives and matrix, worked out once for a structure;
the plan of the factorisation, likewise; the median of five further solves, of which each compiles
nothing but records its functions anew; a solve on one core of a CPU up to 10,000 buses; and Ipopt
up to 10,000 buses where CasADi is installed. Then P_RBL of one simulated draw on ten networks, on
both. Then a thousand instances of case118 with loads scaled at random by 0.9 to 1.05, as one batch;
twenty of them alone on the CPU.
"""

import datetime
import platform
import statistics
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from gridveil import Network, load_case, restore, simulate_loads, solve_acopf, using
from gridveil.opf import ipopt
from gridveil.opf.acopf import acopf_program
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.cuda.backend import GPU
from gridveil.opf.interior_point.cuda.recording import process_stream
from gridveil.opf.interior_point.solve import minimise_batch
from gridveil.opf.interior_point.structure import structure_of
from gridveil.opf.program import NetworkProgram, batch_of
from gridveil.opf.start import starting_point
from gridveil.privacy.choice import noise_choice

NETWORKS = (
    "case118_ieee", "case1354_pegase", "case2869_pegase", "case9241_pegase", "case30000_goc",
    "case78484_epigrids",
)  # fmt: skip
SAME = (
    "case14_ieee", "case24_ieee_rts", "case30_ieee", "case39_epri", "case57_ieee",
    "case73_ieee_rts", "case118_ieee", "case162_ieee_dtc", "case200_activ", "case300_ieee",
)  # fmt: skip
REPEATS, ON_CPU, INSTANCES, ALONE, BETA = 5, 10_000, 1000, 20, 0.01


def built(network: Network) -> tuple[NetworkProgram, Any]:
    builder = acopf_program(network)
    program = builder.build()
    with using("interior-point"):
        return program, builder.start(program, starting_point(network))


def timed(call: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    result = call()
    return result, time.perf_counter() - started


def patterns_and_plan(program: NetworkProgram, gpu: GPU) -> tuple[float, float]:
    def patterns() -> Any:
        shape, j, h = (
            program.linear.shape,
            program.jacobian_structure(),
            program.hessian_structure(),
        )
        return structure_of(shape, j, h, gpu.ordering)

    def plan() -> None:
        gpu.operations(structure).factorisation(1)
        process_stream().synchronize()

    with gpu.session():
        structure, first = timed(patterns)
        return first, timed(plan)[1]


def ipopt_seconds(program: NetworkProgram, start: Any) -> str:
    try:
        solution, seconds = timed(lambda: ipopt.minimise(program, start))
    except (ImportError, OSError):
        return "–"
    return f"{seconds:.2f} ({solution.iterations})"


def one_network(name: str) -> None:
    network = load_case(name)
    program, start = built(network)
    gpu, batch, starts = GPU(), batch_of([program]), start[None]
    patterns, plan = patterns_and_plan(program, gpu)
    for _ in range(2):
        result = minimise_batch(batch, starts, backend=gpu)
    runs = [timed(lambda: minimise_batch(batch, starts, backend=gpu))[1] for _ in range(REPEATS)]
    cpu = theirs = "–"
    if len(network.buses) <= ON_CPU:
        on_cpu, seconds = timed(lambda: minimise_batch(batch, starts, backend=CPU()))
        cpu, theirs = f"{seconds:.2f} ({on_cpu.iterations[0]})", ipopt_seconds(program, start)
    print(
        f"| {network.name} | {result.code[0]} | {result.iterations[0]} | "
        f"{result.effort.factorisations} | {result.effort.gradient_steps} | "
        f"{result.objective[0]:.7g} | {patterns:.2f} | {plan:.2f} | "
        f"**{statistics.median(runs):.3f}** ({min(runs):.3f}–{max(runs):.3f}) | {cpu} | {theirs} |",
        flush=True,
    )


def same_on_both(name: str) -> None:
    network = load_case(name)
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, noise_choice(hide="10%").make(network, 1), seed=1)
    found = {}
    for device in ("cpu", "gpu"):
        with using("interior-point", device):
            found[device] = restore(network, noisy, costs, BETA, "central")
    cpu, gpu = found["cpu"], found["gpu"]
    apart = max(np.abs(cpu.p - gpu.p).max(), np.abs(cpu.q - gpu.q).max())
    print(
        f"| {network.name} | {cpu.status.value} | {cpu.iterations} | {gpu.iterations} | "
        f"{apart:.1e} | {gpu.max_violation:.1e} |",
        flush=True,
    )


def many(name: str) -> None:
    program, start = built(load_case(name))
    random, buses, programs = np.random.default_rng(1), program.physics.buses, []
    for _ in range(INSTANCES):
        factor = np.tile(random.uniform(0.9, 1.05, buses), 2)
        bounds = {key: getattr(program, key).copy() for key in ("g_min", "g_max")}
        for bound in bounds.values():
            bound[: 2 * buses] *= factor
        programs.append(replace(program, **bounds))
    batch, starts = batch_of(programs), np.repeat(start[None], INSTANCES, axis=0)
    for _ in range(2):
        result = minimise_batch(batch, starts, backend=GPU())
    runs = [timed(lambda: minimise_batch(batch, starts, backend=GPU()))[1] for _ in range(3)]
    alone, seconds = timed(
        lambda: minimise_batch(batch.instances(np.arange(ALONE)), starts[:ALONE], backend=CPU())
    )
    same = int((alone.iterations == result.iterations[:ALONE]).sum())
    print(
        f"{INSTANCES} instances of {name}: {int((result.code == 0).sum())} solved in at most "
        f"{result.iterations.max()} iterations, {statistics.median(runs):.2f} s "
        f"({min(runs):.2f}–{max(runs):.2f}). {ALONE} of them on one core of the CPU: "
        f"{seconds:.2f} s, {same} with as many iterations, variables at most "
        f"{np.abs(alone.x - result.x[:ALONE]).max():.1e} apart."
    )


def gpu_name() -> str:
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def main(names: list[str]) -> None:
    print(
        "# The interior-point method on a GPU\n\n"
        f"`python -m benchmarks.interior_point_gpu`, {datetime.date.today()}, {gpu_name()}, "
        f"{platform.processor() or platform.machine()}. Times in seconds; iterations in brackets.\n"
        "Patterns and plan are made once for a structure.\n\n"
        "| network | code | iterations | factorisations | steps of conjugate gradients | cost | "
        "patterns | plan | iterating | one core | Ipopt |\n|" + "---|" * 11,
        flush=True,
    )
    for name in names:
        one_network(name)
    print(
        "\nP_RBL of one draw of the noise (10 % of each load, ε = 1, β = 1 %):\n\n"
        "| network | | iterations, CPU | GPU | loads apart, p.u. | largest violation, p.u. |\n|"
        + "---|"
        * 6,
        flush=True,
    )
    for name in SAME:
        same_on_both(name)
    print()
    many(names[0])


if __name__ == "__main__":
    main(sys.argv[1:] or list(NETWORKS))
