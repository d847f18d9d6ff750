"""Networks through PowSyBl: its AC power flow and ours at the same injections; releases of them."""

import logging
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.power_flow import power_flow
from benchmarks.report import write_table
from benchmarks.small_files import IEEE_CDF, UCTE
from gridveil import GridveilError, Network, export_release, load_case, release, verify
from gridveil.network.formats.powsybl.conversion import converted
from gridveil.network.formats.powsybl.grid import Grid

_OWN = (
    "ieee9", "ieee14", "ieee30", "ieee57", "ieee118", "ieee300",
    "eurostag_tutorial_example1_network", "eurostag_tutorial_example1_with_tie_lines_and_areas",
    "four_substations_node_breaker_network", "metrix_tutorial_six_buses_network",
    "micro_grid_be_network", "micro_grid_nl_network",
)  # fmt: skip
_SAVED = {
    ".raw": ("PSS/E", ("ieee14", "ieee118", "four_substations_node_breaker_network",
                       "micro_grid_be_network", "metrix_tutorial_six_buses_network")),
    ".zip": ("CGMES", ("ieee9", "ieee14", "four_substations_node_breaker_network",
                       "metrix_tutorial_six_buses_network")),
}  # fmt: skip
_BASE_VOLTAGE = r'<cim:VoltageLevel rdf:ID="_([^"]+)">.*?BaseVoltage rdf:resource="#_([^"]+)"'
_BOUNDARY = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:cim="http://iec.ch/TC57/2013/CIM-schema-cim16#" '
    'xmlns:md="http://iec.ch/TC57/61970-552/ModelDescription/1#">'
    '<md:FullModel rdf:about="urn:uuid:made-up-boundary"><md:Model.profile>'
    "http://entsoe.eu/CIM/EquipmentBoundary/3/1</md:Model.profile></md:FullModel>{}</rdf:RDF>"
)
_TIGHT = {"slackBusPMaxMismatch": "1e-6", "newtonRaphsonConvEpsPerEq": "1e-8"}
"""Tolerances of PowSyBl's power flow: by default it leaves 1 MW at the slack bus."""
_BACK = (".raw", ".xiidm", ".zip")
_TEXTS = {"made_up.uct": UCTE, "made_up.ieee": IEEE_CDF}


def files(folder: Path) -> Iterator[Path]:
    """Write every network into a folder, and yield its file."""
    for name in _OWN:
        path = folder / f"{name}.xiidm"
        own(name).save(str(path), format="XIIDM")
        yield path
    yield with_boundary(folder / "micro_grid_be_network.zip", own("micro_grid_be_network"))
    for suffix, (kind, names) in _SAVED.items():
        for name in names:
            path = folder / f"{name}{suffix}"
            own(name).save(str(path), format=kind)
            yield path
    for name, text in _TEXTS.items():
        (folder / name).write_text(text)
        yield folder / name


def with_boundary(path: Path, source: Any) -> Path:
    """Write CGMES profiles with the base voltages that PowSyBl leaves to the boundary's profile."""
    source.save(str(path), format="CGMES")
    with zipfile.ZipFile(path) as archive:
        text = next(archive.read(n).decode() for n in archive.namelist() if n.endswith("EQ.xml"))
    levels = source.get_voltage_levels().nominal_v
    base = dict(re.findall(_BASE_VOLTAGE, text, re.DOTALL))
    missing = {
        base[level]: kv for level, kv in levels.items() if f'ID="_{base[level]}"' not in text
    }
    values = "".join(
        f'<cim:BaseVoltage rdf:ID="_{key}"><cim:BaseVoltage.nominalVoltage>{kv}'
        "</cim:BaseVoltage.nominalVoltage></cim:BaseVoltage>"
        for key, kv in missing.items()
    )
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("EQ_BD.xml", _BOUNDARY.format(values))
    return path


def own(name: str) -> Any:
    """Return a network that comes with pypowsybl."""
    import pypowsybl.network

    create: Callable[[], Any] = getattr(pypowsybl.network, f"create_{name}")
    return create()


def loaded(path: Path) -> Any:
    """Return what pypowsybl itself reads from a file."""
    import pypowsybl.network

    if path.suffix == ".ieee":  # which PowSyBl knows by another suffix
        return pypowsybl.network.load_from_string("case.txt", path.read_text())
    options = {"iidm.import.cgmes.convert-sv-injections": "false"} if path.suffix == ".zip" else {}
    return pypowsybl.network.load(str(path), options)


def voltage_difference(source: Any, network: Network) -> tuple[float, float]:
    """Return how far PowSyBl's power flow and that of the network's equations are apart.

    Both have the same injections; the second starts at the first's solution, and holds no voltage
    but that of the reference bus.

    Args:
        source: A network of pypowsybl, which gets the results of its power flow.
        network: The network read from the same.

    Returns:
        The largest difference of a complex voltage at a bus of PowSyBl's bus view, and the largest
        mismatch of PowSyBl's solution in the network, both in p.u.
    """
    import pypowsybl.loadflow

    tight = pypowsybl.loadflow.Parameters(provider_parameters=_TIGHT)
    outcome = pypowsybl.loadflow.run_ac(source, tight)[0]
    assert "CONVERGED" in str(outcome.status), outcome.status
    grid, n = converted(source, network.base_mva), len(network.buses)
    index = {int(number): i for i, number in enumerate(network.buses.number)}
    voltage, shown = _voltages(grid, network, index)
    injected = _injected(grid, network, index)
    held = np.concatenate([network.buses.reference, network.buses.reference])
    inner = np.concatenate([shown, shown]) | held
    if not shown.all():  # buses that PowSyBl shows no voltage of
        voltage, _ = power_flow(network, injected, inner, voltage)
    found, mismatch = power_flow(network, injected, held, voltage)
    ours, theirs = (x[n:] * np.exp(1j * x[:n]) for x in (found, voltage))
    return float(np.abs(ours - theirs)[shown].max()), mismatch


def _voltages(grid: Grid, network: Network, index: dict[int, int]) -> tuple[Any, Any]:
    """Return θ and v of each bus, and where PowSyBl shows them; others as at their neighbours."""
    n, lines = len(network.buses), network.lines
    x = np.full(2 * n, np.nan)
    for row in grid.frame("buses"):
        at = index.get(grid.bus_number[row["id"]])
        if at is not None:
            x[at] = np.radians(row["v_angle"])
            x[n + at] = row["v_mag"] / grid.nominal_kv[row["voltage_level_id"]]
    shown = ~np.isnan(x[:n])
    for f, t, shift in zip(lines.from_bus, lines.to_bus, lines.shift, strict=True):
        for unknown, known, turn in ((f, t, shift), (t, f, -shift)):
            if np.isnan(x[unknown]) and not np.isnan(x[known]):
                x[unknown], x[n + unknown] = x[known] + turn, x[n + known]
    return x, shown


def _injected(grid: Grid, network: Network, index: dict[int, int]) -> Any:
    """Return what is fed into each bus: our loads, and PowSyBl's generators as it solved them."""
    n, mva = len(network.buses), network.base_mva
    out = np.zeros(2 * n)
    np.subtract.at(out, network.loads.bus, network.loads.p)
    np.subtract.at(out, n + network.loads.bus, network.loads.q)
    known = {one.key for one in network.load_identities}
    for frame in ("generators", "static_var_compensators", "vsc_converter_stations"):
        for row in grid.frame(frame):
            at = index.get(grid.bus_number.get(row["bus_id"], 0))
            if at is None or f"static var compensator {row['id']}" in known:
                continue
            if f"injection {row['id']}" in known:
                continue
            if frame == "generators":
                out[at] -= row["p"] / mva
            if frame != "vsc_converter_stations" or row["voltage_regulator_on"]:
                out[n + at] -= np.nan_to_num(row["q"]) / mva
    for row in grid.frame("batteries"):  # PowSyBl balances with them too
        out[index[grid.bus_number[row["bus_id"]]]] -= (row["p"] + row["target_p"]) / mva
    return out


def _released(path: Path) -> str:
    """Return what became of a release with a band of the dispatch, its check and its way back."""
    network = load_case(path)
    try:
        made = release(network, path.parent / f"{path.name}.sqlite", hide="10 %", band="dispatch")
        folder = path.parent / f"{path.name}_release"
        made.save(folder)
        checks = verify(folder)
        if path.suffix in _BACK:
            copy = path.with_name(f"copy_{path.name}")
            export_release(folder, path, copy)
            assert len(load_case(copy).loads) == len(network.loads)
    except GridveilError as error:
        return str(error).splitlines()[0].replace(str(path.parent), "")[:120]
    return "yes" if all(check.ok for check in checks.claims) else "no"


def main() -> None:
    logging.disable()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for path in files(Path(name)):
            network = load_case(path)
            started = time.perf_counter()
            load_case(path)
            seconds = time.perf_counter() - started
            difference, mismatch = voltage_difference(loaded(path), network)
            counts = (len(network.buses), len(network.loads), len(network.lines))
            figures = (f"{seconds:.2f}", f"{mismatch:.0e}", f"{difference:.0e}", _released(path))
            rows.append((path.name, *counts, *figures, "; ".join(network.conversion_notes)))
            print(*rows[-1][:-1], file=sys.stderr)
    write_table(
        "powsybl_networks",
        "Networks that come with pypowsybl, saved in its formats and read by both sides, and two "
        "made up here. Power flow: PowSyBl's AC power flow, to 1e-6 MW at the slack bus, against "
        "Newton's method on Gridveil's equations from its solution, with the same injections; only "
        "the reference bus holds its voltage. Mismatch: of PowSyBl's solution in these equations "
        "before the first step. Buses count star and boundary buses. Releases: `hide 10 %`, a band "
        "of the dispatch, verified, and written back into `.raw`, `.xiidm` and CGMES files.",
        ("file", "buses", "loads", "branches", "read (s)", "mismatch (p.u.)",
         "difference in voltage (p.u.)", "released and verified", "what was converted how"),
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
