"""The interior-point method on a GPU against itself on a CPU: single networks, and batches.

Run on a machine with an NVIDIA GPU, CuPy and cuDSS 1.0, from the project's folder:
    PYTHONPATH=src python3 -m benchmarks.interior_point_gpu CASES.npz [NAME …]

CASES.npz has the programs of networks as arrays, so that no reader of case files is needed there.
It is made where Gridveil is installed whole:
    .venv/bin/python -m benchmarks.interior_point_gpu --save CASES.npz NAME …

For each network: the second solve in the process (patterns and plan kept) on the GPU, the first on
a CPU, iterations and differences of both. Then a thousand instances of the smallest network, with
loads scaled at random by 0.9 to 1.05, as one batch on the GPU; twenty of them alone on the CPU.
Numba is needed for the CPU and for batches.
"""

import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from gridveil.network.flows import FlowCoefficients
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.cuda.backend import GPU
from gridveil.opf.interior_point.solve import minimise_batch
from gridveil.opf.physics import Physics
from gridveil.opf.placement import HOST
from gridveil.opf.program import NetworkProgram, PolynomialTerms, batch_of

INSTANCES, ALONE = 1000, 20
PHYSICS = ("buses", "limited", "rows", "columns", "_from", "_to", "_shunt_g", "_shunt_b",
           "_balance_row")  # fmt: skip
BOUNDS = ("costs", "x_min", "x_max", "g_min", "g_max")


def save(path: Path, names: list[str]) -> None:
    from gridveil import load_case, using
    from gridveil.opf.acopf import acopf_program
    from gridveil.opf.start import starting_point

    arrays: dict[str, Any] = {}
    for name in names:
        network = load_case(name)
        builder = acopf_program(network)
        program = builder.build()
        with using("interior-point"):
            arrays[f"{name}/start"] = builder.start(program, starting_point(network))
        arrays |= {f"{name}/{key}": getattr(program, key) for key in BOUNDS}
        arrays |= {f"{name}/physics{key}": getattr(program.physics, key) for key in PHYSICS}
        flows = program.physics._coefficients
        arrays |= {f"{name}/flow_{f.name}": getattr(flows, f.name) for f in fields(flows)}
        terms = program.terms
        arrays |= {f"{name}/term_{f.name}": getattr(terms, f.name) for f in fields(terms)}
        row, column = program.linear.coords
        arrays |= {f"{name}/linear": program.linear.data, f"{name}/linear_row": row}
        arrays |= {f"{name}/linear_column": column, f"{name}/shape": program.linear.shape}
    np.savez_compressed(path, **arrays)


def opened(arrays: Any, name: str) -> tuple[NetworkProgram, Any]:
    physics = object.__new__(Physics)
    for key in PHYSICS:
        value = arrays[f"{name}/physics{key}"]
        setattr(physics, key, int(value) if value.ndim == 0 else value)
    physics._placement = HOST
    physics._coefficients = FlowCoefficients(
        *(arrays[f"{name}/flow_{field.name}"] for field in fields(FlowCoefficients))
    )
    cells = (arrays[f"{name}/linear_row"], arrays[f"{name}/linear_column"])
    linear = coo_array((arrays[f"{name}/linear"], cells), shape=tuple(arrays[f"{name}/shape"]))
    terms = PolynomialTerms(
        *(arrays[f"{name}/term_{field.name}"] for field in fields(PolynomialTerms))
    )
    bounds = {key: arrays[f"{name}/{key}"] for key in BOUNDS}
    return NetworkProgram(physics, linear, terms, **bounds), arrays[f"{name}/start"]


def solved(program: NetworkProgram, start: Any, backend: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    result = minimise_batch(program, start, backend=backend)
    return result, time.perf_counter() - started


def one_network(name: str, program: NetworkProgram, start: Any, cpu: bool) -> None:
    batch, starts = batch_of([program]), start[None]
    gpu = GPU()
    _, first = solved(batch, starts, gpu)
    result, again = solved(batch, starts, gpu)
    line = (
        f"{name}: GPU code {result.code[0]}, {result.iterations[0]} iterations, "
        f"{result.effort.factorisations} factorisations, {result.effort.gradient_steps} steps of "
        f"conjugate gradients, cost {result.objective[0]:.6e}, first {first:.2f} s, again "
        f"{again:.3f} s"
    )
    if cpu:
        theirs, seconds = solved(batch, starts, CPU())
        line += (
            f"; CPU {theirs.iterations[0]} iterations, cost {theirs.objective[0]:.6e}, "
            f"{seconds:.2f} s; variables differ by {np.abs(result.x - theirs.x).max():.1e}"
        )
    print(line, flush=True)


def many(name: str, program: NetworkProgram, start: Any) -> None:
    random = np.random.default_rng(1)
    buses = program.physics.buses
    programs = []
    for _ in range(INSTANCES):
        factor = np.tile(random.uniform(0.9, 1.05, buses), 2)
        bounds = {key: getattr(program, key).copy() for key in ("g_min", "g_max")}
        for bound in bounds.values():
            bound[: 2 * buses] *= factor
        programs.append(replace(program, **bounds))
    batch, starts, gpu = batch_of(programs), np.repeat(start[None], INSTANCES, axis=0), GPU()
    _, first = solved(batch, starts, gpu)
    result, again = solved(batch, starts, gpu)
    codes = dict(zip(*np.unique(result.code, return_counts=True), strict=True))
    print(
        f"{name} × {INSTANCES}: GPU codes {codes}, at most {result.iterations.max()} iterations, "
        f"first {first:.2f} s, again {again:.3f} s",
        flush=True,
    )
    alone, seconds = solved(batch.instances(np.arange(ALONE)), starts[:ALONE], CPU())
    same = int((alone.iterations == result.iterations[:ALONE]).sum())
    apart = np.abs(alone.x - result.x[:ALONE]).max()
    print(
        f"  {ALONE} on a CPU in {seconds:.2f} s: {same} with as many iterations, {apart:.1e} apart"
    )


def main(path: Path, names: list[str]) -> None:
    arrays = np.load(path)
    known = list(dict.fromkeys(key.split("/")[0] for key in arrays.files))
    cases = {name: opened(arrays, name) for name in names or known}
    for name, (program, start) in cases.items():
        one_network(name, program, start, cpu=program.physics.buses < 10_000)
    smallest = min(cases, key=lambda name: cases[name][0].physics.buses)
    many(smallest, *cases[smallest])


if __name__ == "__main__":
    if sys.argv[1] == "--save":
        save(Path(sys.argv[2]), sys.argv[3:])
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
