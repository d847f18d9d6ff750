"""Forges releases that contradict themselves nowhere: page, digests and figures fit each other."""

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.network.case_file import REQUIRED_COLUMNS, CaseFile
from gridveil.network.conversion import build_network, in_service
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.network.source_loads import loads_at_buses
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.privacy.guarantee import NOT_COVERED, WITHIN_DISTANCE, promise
from gridveil.publication.certificate import Certificate
from gridveil.publication.folder import (
    CERTIFICATE,
    HISTORY,
    LOADS,
    NETWORK,
    POSITIONS,
    REPORT,
    SIGNATURE,
)
from gridveil.publication.report.redraw import redrawn_page
from gridveil.publication.statements import (
    LOADS_COLUMNS,
    TARGET_PRIVATE,
    invariants,
    is_private_as_a_whole,
    post_processing_sentences,
    ratings_source,
    target_name,
    uncovered,
    whole_statement,
)
from gridveil.publication.verification.recompute import (
    recompute,
    relative_difference,
    worst_generator,
)
from gridveil.publication.verification.verify import verify


@dataclass
class Forgery:
    """The contents of a release, to be changed and written again."""

    content: dict[str, Any]
    """Of the certificate."""
    files: dict[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> "Forgery":
        """Read a release without its signature."""
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        files.pop(SIGNATURE, None)
        return cls(json.loads(files.pop(CERTIFICATE)), files)

    @property
    def protection(self) -> dict[str, Any]:
        return self.content["protection"]

    @property
    def costs(self) -> dict[str, Any]:
        return self.content["costs"]

    @property
    def fidelity(self) -> dict[str, Any]:
        return self.content["fidelity"]

    @property
    def case(self) -> CaseFile:
        text = self.files[NETWORK].decode("utf-8", "surrogateescape")
        return parse_matpower(text, NETWORK, self.content["network"])

    def tables(self) -> dict[str, np.ndarray]:
        """Return the tables of the network, to be changed and put back."""
        case = self.case
        return {name: case.tables[name].values.copy() for name in REQUIRED_COLUMNS}

    def put_tables(self, tables: dict[str, np.ndarray], base_mva: float | None = None) -> None:
        base = self.case.base_mva if base_mva is None else base_mva
        self.files[NETWORK] = text_of_tables(tables, base).encode()

    def put_loads(self) -> None:
        """Let the table of loads be that of the network, one load at each bus."""
        loads = with_loads(self.case, self.content["load_buses"]).loads
        lines = [f"{load.bus},1,{load.p_mw!r},{load.q_mvar!r},1\n" for load in loads]
        self.files[LOADS] = "".join([",".join(LOADS_COLUMNS) + "\n", *lines]).encode()

    def state_again(self, pairs: str = WITHIN_DISTANCE) -> None:
        """Let every sentence follow from the figures."""
        of, kept = self.protection, self.content["kept"]
        target = target_name(self.fidelity["band"])
        held_to = self.content["costs"] or self.content.get("dispatch")
        costs = held_to or {"provenance": TARGET_PRIVATE, "source": ""}
        done = self.content.get("post_processing") or {}
        consumers, factor = done.get("consumers", []), done.get("power_factor")
        if done:
            done["sentences"] = post_processing_sentences(
                len(consumers), len(self.content["load_buses"]), factor, done["bias_corrected"]
            )
        of["promise"] = promise(
            of["epsilon"], of["delta"], of["alpha_pu"], self.content["base_mva"], pairs,
            of["caution"],
        )  # fmt: skip
        of["not_covered"] = uncovered(NOT_COVERED, costs["provenance"], of["delta"], target)
        self.content["statement"] = whole_statement(
            costs["provenance"], kept, of["epsilon"], target
        )
        self.content["private_as_a_whole"] = is_private_as_a_whole(costs["provenance"], kept)
        self.content["invariants"] = [
            {"what": what, "provenance": provenance}
            for what, provenance in invariants(
                costs["provenance"],
                costs["source"],
                kept,
                bool(consumers),
                factor,
                ratings_source(of["parameters"]),
                target,
            )
        ]

    def compute_again(self) -> OPFResult:
        """Let the figures of the fidelity phase follow from the network."""
        case, of = self.case, self.fidelity
        targets = np.array(self.costs["dollars_per_hour"])
        found, target = recompute(case), float(targets.sum())
        total = float(found.generator_costs.sum())
        opf = solve_acopf(build_network(case, self._load_rows(case)))
        of.update(
            cost_target=target,
            violations=found.violations,
            max_violation=found.largest_violation,
            cost_dispatch=total,
            cost_gap_dispatch=relative_difference(total, target),
            worst_generator_gap=worst_generator(found.generator_costs, targets),
            cost_optimal=opf.cost,
            cost_gap_optimal=relative_difference(opf.cost, target),
        )
        return opf

    def write(self, folder: Path, page: bool = True) -> Path:
        """Write the release with digests that fit, and with the page unless told otherwise."""
        files = dict(self.files)
        certificate = Certificate.model_validate_json(json.dumps({**self.content, "files": {}}))
        if page:
            case = with_loads(self.case, self.content["load_buses"])
            files[REPORT] = redrawn_page(certificate, case, files[POSITIONS], files.get(HISTORY))
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        certificate = certificate.model_copy(update={"files": digests}).sealed()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in {**files, CERTIFICATE: certificate.to_bytes()}.items():
            (folder / name).write_bytes(data)
        return folder

    def _load_rows(self, case: CaseFile) -> np.ndarray:
        return in_service(case).rows_of(np.array(self.content["load_buses"], dtype=float))


def with_loads(case: CaseFile, load_buses: list[int]) -> CaseFile:
    """Return a case with the load at each of these buses as one of its own."""
    bus = case.tables["bus"]
    row = {number: i for i, number in enumerate(bus.column("bus_i").tolist())}
    p, q = ([float(bus.column(name)[row[n]]) for n in load_buses] for name in ("Pd", "Qd"))
    return replace(case, loads=loads_at_buses(load_buses, p, q, in_service=len(load_buses)))


def broken(folder: Path) -> list[str]:
    """Return the names of the claims that do not hold, or could not be checked."""
    return [claim.name for claim in verify(folder).claims if not claim.ok]
