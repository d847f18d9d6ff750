"""PowerModels' JSON: the same networks as in MATPOWER files, and written back."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from gridveil import CaseError, load_case, solve_acopf
from gridveil.network.formats.powermodels import PowerModelsFormat

CASE = "case14_ieee"


def as_powermodels(name, per_unit=True):
    """Return a MATPOWER case as PowerModels has it: keyed components, loads and shunts apart."""
    tables = load_case(name).case.tables
    base = load_case(name).base_mva
    power, angle = (base, 180 / math.pi) if per_unit else (1.0, 1.0)
    data = {
        "name": name, "baseMVA": base, "per_unit": per_unit, "source_type": "matpower",
        "bus": {}, "load": {}, "shunt": {}, "gen": {}, "branch": {}, "dcline": {}, "storage": {},
        "switch": {},
    }  # fmt: skip
    for row in tables["bus"].values.tolist():
        number = str(int(row[0]))
        data["bus"][number] = {
            "bus_i": int(row[0]), "index": int(row[0]), "bus_type": int(row[1]), "vm": row[7],
            "va": row[8], "base_kv": row[9], "vmax": row[11], "vmin": row[12],
        }  # fmt: skip
        if row[2] or row[3]:
            key = str(len(data["load"]) + 1)
            data["load"][key] = {
                "load_bus": int(row[0]), "pd": row[2] / power, "qd": row[3] / power, "status": 1,
                "index": int(key),
            }  # fmt: skip
        if row[4] or row[5]:
            key = str(len(data["shunt"]) + 1)
            data["shunt"][key] = {
                "shunt_bus": int(row[0]), "gs": row[4] / power, "bs": row[5] / power, "status": 1,
            }  # fmt: skip
    costs = tables["gencost"].values
    for i, row in enumerate(tables["gen"].values.tolist()):
        n = int(costs[i, 3])
        cost = [c * power ** (n - 1 - k) for k, c in enumerate(costs[i, 4 : 4 + n].tolist())]
        data["gen"][str(i + 1)] = {
            "gen_bus": int(row[0]), "pg": row[1] / power, "qg": row[2] / power,
            "qmax": row[3] / power, "qmin": row[4] / power, "vg": row[5], "gen_status": row[7],
            "pmax": row[8] / power, "pmin": row[9] / power, "model": 2, "ncost": n, "cost": cost,
        }  # fmt: skip
    for i, row in enumerate(tables["branch"].values.tolist()):
        data["branch"][str(i + 1)] = {
            "f_bus": int(row[0]), "t_bus": int(row[1]), "br_r": row[2], "br_x": row[3],
            "g_fr": 0.0, "g_to": 0.0, "b_fr": row[4] / 2, "b_to": row[4] / 2,
            "rate_a": row[5] / power, "tap": row[8] or 1.0, "shift": row[9] / angle,
            "br_status": row[10], "angmin": row[11] / angle, "angmax": row[12] / angle,
        }  # fmt: skip
    return data


def read(tmp_path, data):
    path = tmp_path / "case.json"
    path.write_text(json.dumps(data))
    return load_case(path)


@pytest.mark.parametrize("per_unit", [True, False])
def test_the_same_network_as_in_its_matpower_file(per_unit, tmp_path):
    network, wanted = read(tmp_path, as_powermodels(CASE, per_unit)), load_case(CASE)
    assert network.loads.values == pytest.approx(wanted.loads.values)
    for kind in ("buses", "generators", "lines"):
        for name, column in wanted.table(kind).items():
            assert network.table(kind)[name] == pytest.approx(column, abs=1e-12), name
    assert solve_acopf(network).cost == pytest.approx(solve_acopf(wanted).cost, rel=1e-7)


def test_several_loads_at_a_bus_stay_several_and_idle_ones_are_kept(tmp_path):
    data = as_powermodels(CASE)
    data["load"]["12"] = {"load_bus": 2, "pd": 0.05, "qd": 0.01, "status": 1, "name": "Mill"}
    data["load"]["13"] = {"load_bus": 2, "pd": 0.07, "qd": 0.01, "status": 0}
    network = read(tmp_path, data)
    at_two = [
        (one.key, one.name)
        for one, bus in zip(network.load_identities, network.load_buses, strict=True)
        if bus == 2
    ]
    assert at_two == [("load 1", ""), ("load 12", "Mill")]
    assert [one.key for one in network.idle_loads.identities] == ["load 13"]


def test_conductances_and_uneven_charging_are_kept(tmp_path):
    data = as_powermodels(CASE)
    data["branch"]["1"] |= {"g_fr": 0.01, "b_fr": 0.03, "b_to": 0.01}
    network, plain = read(tmp_path, data), load_case(CASE)
    row, (f, t) = 0, (0, 1)
    ends = network.lines.from_bus[row], network.lines.to_bus[row]
    assert ends == (f, t)
    at_from = network.buses.shunt_g[f] + 1j * network.buses.shunt_b[f] + network.lines.y_ff[row]
    wanted = plain.lines.y[row] + 0.01 + 0.03j
    assert at_from == pytest.approx(wanted)
    at_to = network.buses.shunt_b[t] + network.lines.y_tt[row].imag
    assert at_to == pytest.approx(plain.lines.y[row].imag + 0.01)


def test_dc_lines_and_storage_are_fixed_injections(tmp_path):
    data = as_powermodels(CASE)
    data["dcline"]["1"] = {
        "f_bus": 4, "t_bus": 9, "pf": 0.2, "pt": -0.19, "qf": 0.0, "qt": 0.01, "br_status": 1,
    }  # fmt: skip
    data["storage"]["1"] = {"storage_bus": 13, "ps": -0.03, "qs": 0.0, "status": 1}
    network = read(tmp_path, data)
    loads = dict(zip((o.key for o in network.load_identities), network.loads.p, strict=True))
    assert loads["dcline 1 end 1"] == pytest.approx(0.2)
    assert loads["dcline 1 end 2"] == pytest.approx(-0.19)
    assert loads["storage 1"] == pytest.approx(-0.03)
    assert any("fixed injections" in note for note in network.conversion_notes)


def test_a_release_is_written_back(tmp_path):
    data = as_powermodels(CASE)
    data["load"]["13"] = {"load_bus": 2, "pd": 0.0717, "qd": 0.0131, "status": 0}
    data["owner"] = {"comment": "stays"}
    network = read(tmp_path, data)
    idle = replace(network.idle_loads, p=0 * network.idle_loads.p, q=0 * network.idle_loads.q)
    released = replace(
        network.with_loads(1.25 * network.loads.p, 0.5 * network.loads.q), idle_loads=idle
    )
    said = PowerModelsFormat().write_back(released, tmp_path / "case.json", tmp_path / "out.json")
    again = load_case(tmp_path / "out.json")
    assert again.loads.values == pytest.approx(released.loads.values, rel=1e-14)
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["load"]["13"]["pd"] == 0.0
    assert written["owner"] == data["owner"]
    assert written["branch"] == data["branch"]
    assert {bus["vm"] for bus in written["bus"].values()} == {1.0}
    assert any("load 13: out of service" in sentence for sentence in said)
    assert "0.0717" not in (tmp_path / "out.json").read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("branch"), "no dictionary 'branch'"),
        (lambda d: d.update(baseMVA="many"), "baseMVA must be a number above 0"),
        (lambda d: d.update(multinetwork=True), "only single networks"),
        (lambda d: d["bus"]["3"].pop("bus_i") and d["bus"]["3"].pop("index"), "bus 3: index"),
        (lambda d: d["load"]["4"].update(load_bus=77), "load 4: there is no bus 77"),
        (lambda d: d["load"]["4"].update(pd="47.87"), "load 4: pd is not a number"),
        (lambda d: d["load"]["4"].update(qd=math.nan), "load 4: qd is not a number"),
        (lambda d: d["load"]["4"].update(qd=math.inf), "load 4: q_mvar must be a finite number"),
        (lambda d: d["gen"]["2"].update(gen_bus=77), "gen 2: there is no bus 77"),
        (lambda d: d["gen"]["2"].pop("pmax"), "gen 2: pmax is missing"),
        (lambda d: d["branch"]["5"].update(br_x=None), "branch 5: br_x is not a number"),
        (lambda d: d["branch"]["5"].update(br_x=0, br_r=0), "r and x are both 0"),
        (lambda d: d["gen"]["1"].update(cost=["cheap"]), "gen 1: cost is not a list of numbers"),
        (lambda d: d["switch"].update({"1": {"status": 1}}), "switch 1 is not supported"),
        (lambda d: d.update(load={"1": 3}), "load 1 is not a dictionary"),
    ],
)
def test_broken_files(change, said, tmp_path):
    data = as_powermodels(CASE)
    change(data)
    with pytest.raises(CaseError) as caught:
        read(tmp_path, data)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "case.json"))
    assert said in message
    assert not any(shown in message for shown in ("47.87", "0.478", "94.2", "0.942"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"per_unit": true, "bus": {"1": {"bus_i": 1', "case.json:1: this is not complete JSON"),
        ('["bus", "gen"]', "looks like JSON"),
    ],
)
def test_files_that_are_no_networks(text, said, tmp_path):
    (tmp_path / "case.json").write_text(text)
    with pytest.raises(CaseError, match=said):
        load_case(tmp_path / "case.json")


def test_load_values_survive_the_change_of_units(tmp_path):
    network, wanted = read(tmp_path, as_powermodels(CASE)), load_case(CASE)
    np.testing.assert_allclose(network.loads.p, wanted.loads.p, rtol=1e-15)
