"""The interior-point method against Ipopt and published costs: AC-OPF, infeasible networks, P_RBL.

Run: OPENBLAS_NUM_THREADS=1 .venv/bin/python -m benchmarks.interior_point ROWS.jsonl [LARGEST]
     (about an hour; a run that was stopped goes on where it was; with the tables alone written anew
     when nothing is left to do)

Times are processor seconds of one core, without compilation and without reading the case; those of
the interior-point method are of the first solve of a network, its patterns included.

- AC-OPF: every PGLib case, costs against BASELINE.md, to the printed digits; by both solvers up to
  9,241 buses (variants up to 4,661), above that by the interior-point method alone.
- Infeasible: networks up to 500 buses with loads raised by a quarter, again and again, until Ipopt
  says that there is no feasible point; then the interior-point method is asked.
- P_RBL: NESTA networks of the paper, five draws each, and three of PGLib, three draws each; product
  Laplace at α = 0.1 and β = 1 %; central loads of both solvers compared.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import check_output
from typing import Any

import numpy as np

from benchmarks.baselines import nesta_costs, pglib_costs
from benchmarks.published_costs import SHARED
from benchmarks.report import write_table
from gridveil import (
    ProductLaplace,
    load_case,
    restore,
    simulate_loads,
    solve_acopf,
    using,
)
from gridveil.network.library import case_size, find_case

LARGEST = 80_000
LARGEST_OF_IPOPT, LARGEST_VARIANT_OF_IPOPT = 9_300, 4_661
SMALL = 500
P_RBL_LARGE = ("case1354_pegase", "case2869_pegase", "case9241_pegase")
NESTA_UNUSED = ("nesta_case1397sp_eir", "nesta_case300_ieee")
SOLVERS = ("ipopt", "interior-point")
Row = dict[str, Any]


def tasks(largest: int) -> Iterator[tuple[str, str, int]]:
    sizes = {name: case_size(find_case(name)).buses for name in pglib_costs()}
    names = sorted((name for name in sizes if sizes[name] <= largest), key=lambda n: sizes[n])
    yield from (("infeasible", name, 0) for name in names if sizes[name] <= SMALL)
    nesta = [name for name in nesta_costs(SHARED) if name not in NESTA_UNUSED]
    yield from (("p_rbl", name, draw) for name in nesta for draw in range(1, 6))
    yield from (("acopf", name, 0) for name in names)
    large = [name for name in P_RBL_LARGE if sizes[name] <= largest]
    yield from (("p_rbl", name, draw) for name in large for draw in range(1, 4))


def timed(solve: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    result = solve()
    return result, time.process_time() - started


def acopf(name: str, _: int) -> Row:
    network, row = load_case(name), {}
    most = LARGEST_VARIANT_OF_IPOPT if "__" in name else LARGEST_OF_IPOPT
    for solver in SOLVERS if len(network.buses) <= most else SOLVERS[1:]:
        result, seconds = timed(lambda solver=solver: solve_acopf(network, solver=solver))
        row[solver] = {
            "status": result.status.name.lower(),
            "cost": result.cost,
            "violation": result.max_violation,
            "iterations": result.iterations,
            "seconds": seconds,
        }
    return {"buses": len(network.buses), "published": pglib_costs()[name], **row}


def infeasible(name: str, _: int) -> Row:
    network, factor = load_case(name), 1.0
    loads = network.loads
    while True:
        factor *= 1.25
        raised = network.with_loads(loads.p * factor, loads.q * factor)
        by_ipopt, seconds = timed(lambda raised=raised: solve_acopf(raised, solver="ipopt"))
        if not by_ipopt.status.solved:
            break
    ours, our_seconds = timed(lambda: solve_acopf(raised, solver="interior-point"))
    return {
        "buses": len(network.buses),
        "factor": factor,
        "ipopt": {"status": by_ipopt.status.name.lower(), "seconds": seconds},
        "interior-point": {
            "status": ours.status.name.lower(),
            "seconds": our_seconds,
            "iterations": ours.iterations,
        },
    }


def p_rbl(name: str, draw: int) -> Row:
    path = SHARED / f"{name}.m"
    network = load_case(path if path.is_file() else name)
    costs = solve_acopf(network, solver="ipopt").generator_costs
    noisy = simulate_loads(network, ProductLaplace.of(1, 0.1), draw)
    row, loads = {}, []
    for solver in SOLVERS:
        with using(solver):
            found, seconds = timed(lambda: restore(network, noisy, costs, 0.01, "central"))
        loads.append(found.network.loads.values)
        row[solver] = {
            "status": found.status.name.lower(),
            "violation": found.max_violation,
            "displacement": found.displacement,
            "iterations": found.iterations,
            "seconds": seconds,
        }
    return {"buses": len(network.buses), "apart": float(np.abs(loads[0] - loads[1]).max()), **row}


def write_tables(rows: list[Row]) -> None:
    by_kind = {
        kind: sorted((row for row in rows if row["kind"] == kind), key=lambda r: r["buses"])
        for kind in ("acopf", "infeasible", "p_rbl")
    }
    solved = [row for row in by_kind["acopf"] if right(row)]
    lost = [row["case"] for row in by_kind["acopf"] if not right(row)]
    refused = [r for r in by_kind["infeasible"] if r["interior-point"]["status"] == "infeasible"]
    near = [r for r in by_kind["p_rbl"] if r["apart"] <= 1e-4]
    intro = (
        f"AC-OPF: {len(solved)} of {len(by_kind['acopf'])} PGLib costs right to the printed digits "
        f"by the interior-point method{'; not ' + ', '.join(lost) if lost else ''}. Infeasible: "
        f"{len(refused)} of {len(by_kind['infeasible'])} networks that Ipopt calls infeasible are "
        f"called so. P_RBL: {len(near)} of {len(by_kind['p_rbl'])} with central loads within 1e-4 "
        "p.u. of Ipopt's. Seconds are processor seconds of one core; the last column is the "
        "commit of a row."
    )
    table = [
        (
            row["kind"],
            row["case"] + (f" {row['draw']}" if row["draw"] else ""),
            row["buses"],
            row["interior-point"]["status"],
            row["interior-point"].get("iterations", ""),
            f"{row['interior-point']['seconds']:.2f}",
            *_ipopt(row),
            _difference(row),
            row["commit"],
        )
        for kind in by_kind
        for row in by_kind[kind]
    ]
    headings = (
        "what", "case", "buses", "interior point", "iterations", "s", "Ipopt", "iterations", "s",
        "difference", "commit",
    )  # fmt: skip
    print(intro, f"Table in {write_table('interior_point', intro, headings, table).name}.")


def _ipopt(row: Row) -> tuple[Any, ...]:
    if "ipopt" not in row:
        return ("", "", "")
    theirs = row["ipopt"]
    return theirs["status"], theirs.get("iterations", ""), f"{theirs['seconds']:.2f}"


def right(row: Row) -> bool:
    ours = row["interior-point"]
    solved = ours["status"] in ("optimal", "acceptable") and ours["violation"] <= 1e-6
    return solved and f"{ours['cost']:.4e}" == row["published"]


def _difference(row: Row) -> str:
    if row["kind"] == "acopf" and "ipopt" not in row:
        return f"published {row['published']}"
    if row["kind"] == "acopf":
        ours, theirs = row["interior-point"]["cost"], row["ipopt"]["cost"]
        return f"cost {abs(ours - theirs) / abs(theirs):.0e}"
    return f"loads {row['apart']:.0e} p.u." if row["kind"] == "p_rbl" else f"× {row['factor']:.2f}"


def main(path: Path, largest: int) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["kind"], row["case"], row["draw"]) for row in rows}
    commit = check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    run = {"acopf": acopf, "infeasible": infeasible, "p_rbl": p_rbl}
    solve_acopf("case5_pjm", solver="interior-point")  # compiles
    for kind, case, draw in tasks(largest):
        if (kind, case, draw) in done:
            continue
        row = {"kind": kind, "case": case, "draw": draw, **run[kind](case, draw), "commit": commit}
        rows.append(row)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    write_tables(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else LARGEST)
