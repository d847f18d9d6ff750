"""MATPOWER's tables, filled row by row: what readers of element-wise formats build.

A reader adds buses, branches, shunts, generators and fixed injections in MW, MVAr, kV and p.u. on
`base_mva`. What has no meaning without its surroundings, islands and their reference buses, is
settled at the end.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gridveil.arrays import FloatArray
from gridveil.network.case_file import COLUMNS
from gridveil.network.conversion import ISOLATED, REFERENCE
from gridveil.network.from_case import network_from_tables
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.network.source_loads import SourceLoad

NO_COST = (2.0, 0.0, 0.0, 1.0, 0.0)
"""The cost row of a generator without costs: the polynomial 0."""
V_MIN, V_MAX = 0.9, 1.1
"""Voltage limits in p.u. where a source gives none."""
_NAMED = 3
"""How many elements a note names."""


@dataclass(frozen=True)
class FixedInjection:
    """Something with fixed power that is neither load nor generator; it draws p + jq."""

    bus: int
    key: str
    p_mw: float = field(repr=False)
    q_mvar: float = field(repr=False)
    name: str = ""


@dataclass
class CaseRows:
    """The rows of a case under construction."""

    base_mva: float = 100.0
    loads: list[SourceLoad] = field(default_factory=list, repr=False)
    generators: list[str] = field(default_factory=list)
    """What the source calls the generator of each row of the gen table."""
    notes: list[str] = field(default_factory=list)
    _buses: dict[int, dict[str, float]] = field(default_factory=dict)
    _gens: list[dict[str, float]] = field(default_factory=list, repr=False)
    _costs: list[tuple[float, ...]] = field(default_factory=list)
    _branches: list[dict[str, float]] = field(default_factory=list)

    def add_bus(
        self, number: int, base_kv: float, v_min: float = np.nan, v_max: float = np.nan
    ) -> None:
        """Add a bus; limits in p.u., NaN where the source gives none."""
        self._buses[number] = {
            "bus_i": number, "type": 1.0, "area": 1.0, "Vm": 1.0, "baseKV": base_kv, "zone": 1.0,
            "Vmax": V_MAX if np.isnan(v_max) else v_max,
            "Vmin": V_MIN if np.isnan(v_min) else v_min,
        }  # fmt: skip

    def add_shunt(self, bus: int, admittance: complex) -> None:
        """Add an admittance to ground in p.u."""
        row = self._buses[bus]
        row["Gs"] = row.get("Gs", 0.0) + admittance.real * self.base_mva
        row["Bs"] = row.get("Bs", 0.0) + admittance.imag * self.base_mva

    def add_branch(
        self,
        ends: tuple[int, int],
        impedance: complex,
        ratio: complex = 1.0,
        shunts: tuple[complex, complex] = (0.0, 0.0),
        rate_mva: float = 0.0,
        angles: tuple[float, float] = (-360.0, 360.0),
    ) -> None:
        """Add a branch of any π shape.

        MATPOWER's branch has equal susceptances at its ends. The part that both ends have becomes
        its charging, the rest shunts at its buses.

        Args:
            ends: Numbers of its buses.
            impedance: Series impedance in p.u.
            ratio: Voltage of the from bus over the voltage behind its ideal transformer.
            shunts: Admittances to ground in p.u., that of the from end behind the transformer.
            rate_mva: Limit of the apparent power; 0 is none.
            angles: Limits of the angle between its ends in degrees.
        """
        one, other = shunts[0].imag, shunts[1].imag
        common = min(abs(one), abs(other)) * np.sign(one) if one * other > 0 else 0.0
        near = (shunts[0] - 1j * common) / abs(ratio) ** 2
        for bus, rest in zip(ends, (near, shunts[1] - 1j * common), strict=True):
            if rest:
                self.add_shunt(bus, rest)
        self._branches.append({
            "fbus": ends[0], "tbus": ends[1], "r": impedance.real, "x": impedance.imag,
            "b": 2 * common, "rateA": rate_mva, "status": 1.0,
            "ratio": 0.0 if ratio == 1 else abs(ratio),
            "angle": float(np.degrees(np.angle(ratio))),
            "angmin": angles[0], "angmax": angles[1],
        })  # fmt: skip

    def add_generator(
        self,
        name: str,
        bus: int,
        p_limits: tuple[float, float],
        q_limits: tuple[float, float],
        set_point: tuple[float, float, float] = (0.0, 0.0, 1.0),
        cost: Sequence[float] = NO_COST,
    ) -> None:
        """Add a generator; `set_point` is MW, MVAr and voltage in p.u., `cost` a gencost row."""
        self.generators.append(name)
        self._gens.append({
            "bus": bus, "Pg": set_point[0], "Qg": set_point[1], "Qmax": q_limits[1],
            "Qmin": q_limits[0], "Vg": set_point[2], "mBase": self.base_mva, "status": 1.0,
            "Pmax": p_limits[1], "Pmin": p_limits[0],
        })  # fmt: skip
        self._costs.append(tuple(cost))

    def add_injection(
        self, injection: FixedInjection, public: bool, in_service: bool = True
    ) -> None:
        """Add a fixed injection: a public one as a generator that cannot move, else as a load."""
        p, q = injection.p_mw, injection.q_mvar
        if public and not in_service:
            return
        if public:
            self.add_generator(injection.key, injection.bus, (-p, -p), (-q, -q), (-p, -q, 1.0))
        else:
            self.loads.append(
                SourceLoad(injection.bus, injection.key, p, q, in_service, injection.name)
            )

    def note(self, names: Collection[str], sentence: str) -> None:
        """Add a note on elements, if there are any; `sentence` follows their names."""
        if names:
            self.notes.append(f"{named(names)} {sentence}")

    def settle_islands(self, preferred: Collection[int] = ()) -> None:
        """Give every island with a generator a reference bus; take others out of service.

        Args:
            preferred: Buses that the source itself takes as references.
        """
        numbers = list(self._buses)
        place = {number: i for i, number in enumerate(numbers)}
        ends = [[place[int(row[end])] for row in self._branches] for end in ("fbus", "tbus")]
        graph = coo_array((np.ones(len(ends[0])), ends), shape=(len(numbers),) * 2)
        island = connected_components(graph, directed=False)[1]
        chosen = self._references({n: int(island[place[n]]) for n in numbers}, preferred)
        dead: list[int] = []
        for number in numbers:
            its = chosen.get(int(island[place[number]]))
            if its is None:
                self._buses[number]["type"] = ISOLATED
                dead.append(number)
            elif its == number:
                self._buses[number]["type"] = REFERENCE
        self.note(
            [f"bus {number}" for number in dead],
            "without a generator that they are connected to: out of service, with their loads",
        )

    def tables(self) -> dict[str, FloatArray]:
        """Return the tables in MATPOWER's columns."""
        width = max(map(len, self._costs), default=len(NO_COST))
        return {
            "bus": _matrix(list(self._buses.values()), COLUMNS["bus"]),
            "gen": _matrix(self._gens, COLUMNS["gen"][:10]),
            "branch": _matrix(self._branches, COLUMNS["branch"]),
            "gencost": np.array([(*cost, *[0.0] * (width - len(cost))) for cost in self._costs]),
        }

    def _references(self, islands: Mapping[int, int], preferred: Collection[int]) -> dict[int, int]:
        """Return the reference bus of each island: a preferred one, or its largest generator's."""
        best: dict[int, tuple[bool, float, int]] = {}
        for gen in self._gens:
            if gen["Pmin"] == gen["Pmax"]:  # a fixed injection, or a source of reactive power
                continue
            bus = int(gen["bus"])
            candidate = (bus in preferred, gen["Pmax"], -bus)
            best[islands[bus]] = max(candidate, best.get(islands[bus], candidate))
        for bus in preferred:
            if islands.get(bus) in best:
                island = islands[bus]
                best[island] = max((True, np.inf, -bus), best[island])
        return {island: -candidate[2] for island, candidate in best.items()}


def network_of_rows(
    rows: CaseRows, path: Path, load_buses: Sequence[int] | None, name: str | None = None
) -> Network:
    """Return the network of rows that were read from a file; messages name the file."""
    try:
        network = network_from_tables(
            rows.tables(), rows.base_mva, name or path.stem, load_buses, rows.loads
        )
    except CaseError as error:
        problems = [replace(problem, line=None) for problem in error.problems]
    else:
        return replace(network, conversion_notes=tuple(rows.notes))
    raise CaseError(path, problems)  # its lines are none of the file's


def named(names: Collection[str]) -> str:
    """Return a text with the first names of many."""
    first = list(names)[:_NAMED]
    rest = len(names) - len(first)
    return ", ".join(first) + (f" and {rest} more" if rest else "")


def _matrix(rows: list[dict[str, float]], columns: tuple[str, ...]) -> FloatArray:
    return np.array([[row.get(name, 0.0) for name in columns] for row in rows]).reshape(
        -1, len(columns)
    )
