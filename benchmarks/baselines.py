"""The published AC-OPF costs that our results are held against."""

import csv
from pathlib import Path

from gridveil.network.library import find_case


def pglib_costs() -> dict[str, str]:
    """Return the AC cost of every PGLib case as printed in its BASELINE.md, by our case name."""
    table = find_case("case3_lmbd").parent / "BASELINE.md"
    rows = [
        [cell.strip() for cell in line.split("|")]
        for line in table.read_text(encoding="utf-8").splitlines()
        if line.startswith("| pglib_opf_")
    ]
    return {row[1].removeprefix("pglib_opf_"): row[5] for row in rows}


NESTA_UNLISTED = {"nesta_case1397sp_eir": "3.8890e+03"}
"""Published AC costs of NESTA cases that BASELINE.csv leaves out."""


def nesta_costs(folder: Path) -> dict[str, str]:
    """Return the published AC costs of a folder of NESTA cases; none if it has no BASELINE.csv."""
    table = folder / "BASELINE.csv"
    if not table.is_file():
        return {}
    with table.open(encoding="utf-8") as file:
        listed = {row["case"]: row["ac_cost"] for row in csv.DictReader(file)}
    return {**listed, **NESTA_UNLISTED}
