"""Loads written back into the files they came from, read by PowSyBl again."""

import re
import zipfile
from dataclasses import replace

import pytest

from benchmarks.powsybl_networks import loaded, own, with_boundary
from gridveil import GridveilError, load_case
from gridveil.network.formats.cgmes import CgmesFormat
from gridveil.network.formats.ieee_cdf import IeeeCdfFormat
from gridveil.network.formats.psse import PsseFormat
from gridveil.network.formats.xiidm import XiidmFormat

pytest.importorskip("pypowsybl", reason="pypowsybl is an extra")
KINDS = {
    ".raw": ("PSS/E", PsseFormat),
    ".xiidm": ("XIIDM", XiidmFormat),
    ".zip": ("CGMES", CgmesFormat),
}
RAW_P, RAW_Q = 71.83, 13.57


def saved(source, tmp_path, suffix):
    path = tmp_path / f"source{suffix}"
    source.save(str(path), format=KINDS[suffix][0])
    return path


def with_an_idle_load(name="ieee14"):
    """Return a network with two loads at bus 9, one of them disconnected, and results."""
    import pypowsybl.loadflow

    source = own(name)
    source.create_loads(
        id="B9-X", voltage_level_id="VL9", bus_id="B9", p0=RAW_P, q0=RAW_Q, name="Mill"
    )
    source.create_loads(id="B9-Y", voltage_level_id="VL9", bus_id="B9", p0=6.0, q0=1.5)
    source.update_loads(id="B9-X", connected=False)
    pypowsybl.loadflow.run_ac(source)
    return source


def released(network):
    """Return a network with other loads, as an export has it: idle ones are 0."""
    idle = replace(network.idle_loads, p=0 * network.idle_loads.p, q=0 * network.idle_loads.q)
    other = network.with_loads(1.25 * network.loads.p + 0.01, 0.5 * network.loads.q)
    return replace(other, idle_loads=idle)


def texts_of(path):
    if path.suffix != ".zip":
        return {path.name: path.read_text()}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.parametrize("suffix", KINDS)
def test_every_load_returns_to_its_place(suffix, tmp_path):
    path = saved(with_an_idle_load(), tmp_path, suffix)
    network, out = load_case(path), tmp_path / f"out{suffix}"
    assert len(network.idle_loads) == 1
    wanted = released(network)
    said = KINDS[suffix][1]().write_back(wanted, path, out)
    again = load_case(out)
    assert [o.key for o in again.load_identities] == [o.key for o in network.load_identities]
    assert again.loads.values == pytest.approx(wanted.loads.values, rel=1e-12)
    assert replace(again, loads=wanted.loads) == wanted, "nothing else changed"
    there, here = loaded(path).get_loads(), loaded(out).get_loads()
    assert list(there.index) == list(here.index)
    assert here.connected.tolist() == there.connected.tolist()
    assert (here.p0.sum(), here.q0.sum()) == pytest.approx(
        tuple(wanted.loads.values.sum(axis=0) * wanted.base_mva)
    ), "idle loads are cleared"
    assert any("out of service, set to 0" in sentence for sentence in said)


@pytest.mark.parametrize("suffix", KINDS)
def test_no_raw_load_and_no_result_stands_in_the_copy(suffix, tmp_path):
    path = saved(with_an_idle_load(), tmp_path, suffix)
    network, out = load_case(path), tmp_path / f"out{suffix}"
    KINDS[suffix][1]().write_back(released(network), path, out)
    for text in texts_of(out).values():
        for value in (RAW_P, RAW_Q, 94.2, 47.8):
            assert str(value) not in text
    results = loaded(out)
    assert results.get_lines()[["p1", "q1", "p2", "q2"]].isna().all(axis=None)
    assert results.get_loads()[["p", "q"]].isna().all(axis=None)
    assert not any("SvVoltage" in text for text in texts_of(out).values())
    if suffix == ".xiidm":
        assert results.get_buses()[["v_mag", "v_angle"]].isna().all(axis=None)
    if suffix == ".raw":
        buses = results.get_buses(all_attributes=True)
        assert (buses.v_angle == 0).all()


def test_boundary_lines_and_batteries_return_too(tmp_path):
    source = own("micro_grid_be_network")
    level = source.get_loads().voltage_level_id.iloc[0]
    bus = source.get_loads(all_attributes=True).bus_breaker_bus_id.iloc[0]
    source.create_batteries(
        id="STORE & <1>", voltage_level_id=level, bus_id=bus, min_p=-50.0, max_p=50.0,
        target_p=11.5, target_q=-2.5,
    )  # fmt: skip
    path = saved(source, tmp_path, ".xiidm")
    network, out = load_case(path), tmp_path / "out.xiidm"
    wanted = released(network)
    XiidmFormat().write_back(wanted, path, out)
    assert "battery STORE & <1>" in {one.key for one in network.load_identities}
    again = load_case(out)
    assert again.loads.values == pytest.approx(wanted.loads.values, rel=1e-12)
    assert replace(again, loads=wanted.loads) == wanted


def test_what_stands_for_other_networks_is_protected_and_returns(tmp_path):
    path = with_boundary(tmp_path / "model.zip", own("micro_grid_be_network"))
    network, out = load_case(path), tmp_path / "out.zip"
    keys = [one.key for one in network.load_identities]
    assert sum(key.startswith("injection ") for key in keys) == 5
    assert network.loads.p.sum() * 100 == pytest.approx(
        own("micro_grid_be_network").get_loads().p0.sum()
        + own("micro_grid_be_network").get_boundary_lines().p0.sum()
    )
    wanted = released(network)
    CgmesFormat().write_back(wanted, path, out)
    again = load_case(out)
    assert [one.key for one in again.load_identities] == keys
    assert again.loads.values == pytest.approx(wanted.loads.values, rel=1e-9)


def test_halves_of_tie_lines_are_no_loads(tmp_path):
    source = own("eurostag_tutorial_example1_with_tie_lines_and_areas")
    source.update_boundary_lines(id="NHV1_XNODE1", p0=RAW_P, q0=RAW_Q)
    path, out = saved(source, tmp_path, ".xiidm"), tmp_path / "out.xiidm"
    XiidmFormat().write_back(released(load_case(path)), path, out)
    assert str(RAW_P) not in out.read_text()
    assert (loaded(out).get_boundary_lines().p0 == 0).all()


def test_boundary_lines_and_batteries_that_are_switched_off_are_idle(tmp_path):
    source = own("micro_grid_be_network")
    line = source.get_boundary_lines().index[0]
    source.update_boundary_lines(id=line, connected=False, p0=RAW_P, q0=RAW_Q)
    path, out = saved(source, tmp_path, ".xiidm"), tmp_path / "out.xiidm"
    network = load_case(path)
    assert f"boundary line {line}" in {one.key for one in network.idle_loads.identities}
    XiidmFormat().write_back(released(network), path, out)
    assert str(RAW_P) not in out.read_text()


def test_what_has_no_place_is_said(tmp_path):
    path = saved(own("four_substations_node_breaker_network"), tmp_path, ".xiidm")
    said = XiidmFormat().write_back(load_case(path), path, tmp_path / "out.xiidm")
    assert any("hvdc line HVDC1 end 1" in s and "still stands" in s for s in said)
    assert any("targetP" in sentence for sentence in said)


def test_another_file_is_refused(tmp_path):
    network = load_case(saved(own("ieee9"), tmp_path, ".raw"))
    other = saved(own("ieee14"), tmp_path, ".raw")
    with pytest.raises(GridveilError, match=r"bus 2 load 01, .* was it read from another file"):
        PsseFormat().write_back(network, other, tmp_path / "out.raw")
    assert not (tmp_path / "out.raw").exists()


def test_voltage_dependent_parts_of_raw_loads_are_cleared(tmp_path):
    path = saved(own("ieee14"), tmp_path, ".raw")
    text = path.read_text().replace("94.2,19.0,0.0,0.0,0.0,0.0", "94.2,19.0,7.25,2.5,1.75,3.0")
    path.write_text(text)
    network = load_case(path)
    assert any("parts of loads that depend" in note for note in network.conversion_notes)
    at = [one.key for one in network.load_identities].index("bus 3 load 01")
    assert network.loads.p[at] * 100 == pytest.approx(94.2 + 7.25 + 1.75)
    PsseFormat().write_back(released(network), path, tmp_path / "out.raw")
    assert load_case(tmp_path / "out.raw").loads.values == pytest.approx(
        released(network).loads.values
    )


def test_line_ends_and_letters_of_old_tools_stay(tmp_path):
    path = saved(own("ieee14"), tmp_path, ".raw")
    text = path.read_text().replace("VL3_0", "M\xfchle").replace("\n", "\r\n")
    path.write_bytes(text.encode("latin-1"))
    network = load_case(path)
    PsseFormat().write_back(network, path, tmp_path / "out.raw")
    out = (tmp_path / "out.raw").read_bytes()
    assert out.count(b"\r\n") == text.count("\r\n") == out.count(b"\n")
    assert "M\xfchle".encode("latin-1") in out
    assert load_case(tmp_path / "out.raw") == network


def test_a_folder_of_profiles_and_archives_in_an_archive_are_the_same_model(tmp_path):
    path = saved(own("ieee14"), tmp_path, ".zip")
    network, folder = load_case(path), tmp_path / "model"
    folder.mkdir()
    nested = tmp_path / "nested.zip"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(nested, "w") as outer:
        archive.extractall(folder)
        for name in archive.namelist():
            with zipfile.ZipFile(tmp_path / "one.zip", "w") as inner:
                inner.writestr(name, archive.read(name))
            outer.write(tmp_path / "one.zip", f"{name}.zip")
    assert load_case(folder) == network
    assert load_case(str(folder)) == network
    assert load_case(nested) == network


def test_formats_of_narrow_columns_refuse(tmp_path):
    with pytest.raises(GridveilError, match="format 'ieee-cdf' cannot be written back"):
        IeeeCdfFormat().write_back(load_case("case5_pjm"), tmp_path / "a.ieee", tmp_path / "b.ieee")


@pytest.mark.parametrize("spelling", ["<cim:EnergyConsumer.p >", "<cim:EnergyConsumer.p\n>"])
def test_powers_are_found_in_every_spelling_of_xml(spelling, tmp_path):
    """An attack: PowSyBl reads such tags, so their loads must not stay raw in the copy."""
    path = saved(own("ieee9"), tmp_path, ".zip")
    parts = {
        name: text.replace("<cim:EnergyConsumer.p>", spelling)
        for name, text in texts_of(path).items()
    }
    assert any(spelling in text for text in parts.values())
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    network = load_case(path)
    CgmesFormat().write_back(released(network), path, tmp_path / "copy.zip")
    assert load_case(tmp_path / "copy.zip").loads.p == pytest.approx(released(network).loads.p)
    copy = "".join(texts_of(tmp_path / "copy.zip").values())
    for p in (100 * network.loads.p).tolist():
        assert not re.search(rf"EnergyConsumer\.p\s*>{p:g}<", copy)


def test_loads_that_are_not_found_are_not_left_raw(tmp_path):
    path = saved(own("ieee9"), tmp_path, ".zip")
    parts = {
        name: re.sub(r"(EnergyConsumer\.p>)([^<]*)<", r"\1<![CDATA[\2]]><", text)
        for name, text in texts_of(path).items()
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    with pytest.raises(GridveilError, match="nothing was written"):
        CgmesFormat().write_back(released(load_case(path)), path, tmp_path / "copy.zip")
    assert not (tmp_path / "copy.zip").exists()


def test_parts_of_a_load_are_cleared_in_its_extension(tmp_path):
    import pypowsybl

    source = pypowsybl.network.create_ieee9()
    load, p = next(iter(source.get_loads()["p0"].items()))
    source.create_extensions(
        "detail", id=load, fixed_p0=p / 4, variable_p0=3 * p / 4, fixed_q0=0.0, variable_q0=0.0
    )
    path = saved(source, tmp_path, ".xiidm")
    XiidmFormat().write_back(released(load_case(path)), path, tmp_path / "copy.xiidm")
    detail = pypowsybl.network.load(str(tmp_path / "copy.xiidm")).get_extensions("detail")
    assert not detail.to_numpy().any()
