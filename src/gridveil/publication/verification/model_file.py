"""What the case file of a release may hold: each byte follows.

A published case file is written anew from the model. Loads, voltages and outputs stand in it for
what is in service only; elsewhere there are the values of a file without any. So nothing can be
hidden behind the known columns, at isolated buses, at generators out of service or behind the
numbers of a cost function.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.network.case_file import COLUMNS, REQUIRED_COLUMNS, CaseFile
from gridveil.network.conversion import in_service
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.publication.kept import kept_text

_PIECEWISE = 1
_FIRST_COST = 4
"""Column of gencost from which on the numbers of the cost function stand."""


def is_model(case: CaseFile, text: str, kept: Collection[str]) -> bool:
    """Whether the text of a case holds its model, what is stated to be kept, and nothing else.

    Args:
        case: The case that was read from the text.
        text: The text.
        kept: The kinds of what else is published of its source.
    """
    model = text_of_tables(model_tables(case), case.base_mva)
    if not text.startswith(model):
        return False
    rest = text.removeprefix(model)
    return rest == kept_text(replace(case, text=rest), kept)


def model_tables(case: CaseFile) -> Mapping[str, FloatArray]:
    """Return the tables that a published case must have, given what is in service in it."""
    parts = in_service(case)
    tables = {
        name: case.tables[name].values[:, : len(COLUMNS[name])].copy()
        for name in REQUIRED_COLUMNS
        if name != "gencost"
    }
    bus, gen = tables["bus"], tables["gen"]
    _set(bus, "bus", ~parts.bus, Pd=0.0, Qd=0.0, Vm=1.0, Va=0.0)
    _set(gen, "gen", ~parts.generator, Pg=0.0, Qg=0.0, Vg=1.0)
    at = parts.rows_of(case.tables["gen"].column("bus")[parts.generator])
    _set(gen, "gen", parts.generator, Vg=case.tables["bus"].column("Vm")[at])
    return {**tables, "gencost": _costs(case.tables["gencost"].values)}


def _set(table: FloatArray, name: str, rows: BoolArray, **values: float | FloatArray) -> None:
    """Set columns of some rows, in place."""
    for column, value in values.items():
        table[rows, COLUMNS[name].index(column)] = value


def _costs(gencost: FloatArray) -> FloatArray:
    """Return rows of gencost with nothing behind the numbers that count."""
    count = np.where(gencost[:, 0] == _PIECEWISE, 2, 1) * gencost[:, 3]
    rest = np.arange(gencost.shape[1])[None, :] >= _FIRST_COST + count[:, None]
    return np.where(rest, 0.0, gencost)
