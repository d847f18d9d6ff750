"""PowSyBl's AC power flow and that of our equations, at the same injections."""

import re

import pytest

from benchmarks.powsybl_networks import loaded, own, voltage_difference
from benchmarks.small_files import IEEE_CDF, UCTE
from gridveil import GridveilError, load_case
from gridveil.network.formats.powsybl.reader import network_of

pytest.importorskip("pypowsybl", reason="pypowsybl is an extra")
CLOSE = 1e-6


def converted(source, tmp_path):
    return network_of(source, tmp_path / "case.xiidm", None)


@pytest.mark.parametrize(
    ("name", "suffix", "kind"),
    [
        ("ieee14", ".raw", "PSS/E"),
        ("ieee57", ".xiidm", "XIIDM"),
        ("four_substations_node_breaker_network", ".raw", "PSS/E"),  # HVDC, a compensator
        ("four_substations_node_breaker_network", ".zip", "CGMES"),  # node-breaker topology
        ("micro_grid_be_network", ".xiidm", "XIIDM"),  # three windings, phase shift, boundaries
        ("micro_grid_be_network", ".raw", "PSS/E"),
        ("metrix_tutorial_six_buses_network", ".xiidm", "XIIDM"),  # phase shifters
        ("eurostag_tutorial_example1_with_tie_lines_and_areas", ".xiidm", "XIIDM"),
    ],
)
def test_saved_networks(name, suffix, kind, tmp_path):
    path = tmp_path / f"case{suffix}"
    own(name).save(str(path), format=kind)
    difference, _ = voltage_difference(loaded(path), load_case(path))
    assert difference < CLOSE


@pytest.mark.parametrize(("name", "text"), [("case.uct", UCTE), ("case.ieee", IEEE_CDF)])
def test_files_of_fixed_columns(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    network = load_case(tmp_path / name)
    difference, _ = voltage_difference(loaded(tmp_path / name), network)
    assert difference < CLOSE
    assert len(network.loads) == (5 if name == "case.uct" else 3)


def opened_line(source):
    source.update_lines(id="L1-5-1", connected2=False)


def uneven_line(source):
    source.update_lines(id="L4-5-1", b1=1e-3, b2=-2e-4, g1=3e-4, g2=1e-5)


def opened_transformer(source):
    source.update_2_windings_transformers(id="T4-9-1", connected1=False, g=1e-4, b=-3e-4)


def phase_shift(source):
    import pandas

    changer = pandas.DataFrame(
        [("T4-7-1", "CURRENT_LIMITER", 1, False)],
        columns=["id", "regulation_mode", "tap", "regulating"],
    ).set_index("id")
    steps = pandas.DataFrame(
        [("T4-7-1", 0.0, 0.0, 0.0, 0.0, 1.0, 0.0), ("T4-7-1", 2.0, 8.0, -3.0, 4.0, 1.02, 7.5)],
        columns=["id", "b", "g", "r", "x", "rho", "alpha"],
    ).set_index("id")
    source.create_phase_tap_changers(changer, steps)


def joined_buses(source):
    source.update_lines(id="L13-14-1", r=0.0, x=0.0, b1=0.0, b2=0.0)


def battery(source):
    source.create_batteries(
        id="STORE", voltage_level_id="VL13", bus_id="B13", min_p=-50.0, max_p=50.0, target_p=11.5,
        target_q=-2.5,
    )  # fmt: skip


def set_compensator(source):
    source.create_static_var_compensators(
        id="SVC", voltage_level_id="VL14", bus_id="B14", b_min=-1.0, b_max=1.0,
        regulation_mode="REACTIVE_POWER", target_q=6.5, regulating=True,
    )  # fmt: skip


def idle_loads(source):
    source.update_loads(id=["B3-L", "B9-L"], connected=[False, False])


@pytest.mark.parametrize(
    "change",
    [
        opened_line, uneven_line, opened_transformer, phase_shift, joined_buses, battery,
        set_compensator, idle_loads,
    ],
)  # fmt: skip
def test_what_few_networks_have(change, tmp_path):
    source = own("ieee14")
    change(source)
    network = converted(source, tmp_path)
    difference, mismatch = voltage_difference(source, network)
    assert difference < CLOSE
    assert mismatch < 1e-3, "PowSyBl's solution fits before the first step"


def test_an_opened_winding_of_three(tmp_path):
    source = own("micro_grid_be_network")
    winding = source.get_3_windings_transformers().index[0]
    source.update_3_windings_transformers(id=winding, connected2=False)
    difference, _ = voltage_difference(source, converted(source, tmp_path))
    assert difference < CLOSE


def test_hvdc_powers_are_those_of_its_power_flow(tmp_path):
    import pypowsybl.loadflow

    source = own("four_substations_node_breaker_network")
    network = converted(source, tmp_path)
    loads = {
        one.key: (p, q) for one, (p, q) in zip(
            network.load_identities, network.loads.values * network.base_mva, strict=True
        )
    }  # fmt: skip
    pypowsybl.loadflow.run_ac(source)
    lcc, vsc = source.get_lcc_converter_stations(), source.get_vsc_converter_stations()
    for end in (1, 2):
        assert loads[f"hvdc line HVDC2 end {end}"] == pytest.approx(
            (lcc.p[f"LCC{end}"], lcc.q[f"LCC{end}"])
        )
        assert loads[f"hvdc line HVDC1 end {end}"][0] == pytest.approx(vsc.p[f"VSC{end}"])
    assert loads["hvdc line HVDC1 end 2"][1] == pytest.approx(vsc.q["VSC2"])


def test_public_injections_are_generators_that_cannot_move(tmp_path):
    source = own("ieee14")
    battery(source)
    source.save(str(tmp_path / "case.xiidm"), format="XIIDM")
    network = load_case(tmp_path / "case.xiidm", public_injections=["storage"])
    assert "battery STORE" not in {one.key for one in network.load_identities}
    units = network.to_frame("generators")
    fixed = units[units.bus == 13].iloc[0]
    assert (fixed.p_min_mw, fixed.p_max_mw) == (11.5, 11.5)
    assert (fixed.q_min_mvar, fixed.q_max_mvar) == (-2.5, -2.5)
    with pytest.raises(GridveilError, match="'sgen' is none of dcline, storage, boundary"):
        load_case(tmp_path / "case.xiidm", public_injections=["sgen"])


def test_an_island_without_generators_is_idle(tmp_path):
    source = own("ieee14")
    source.update_lines(id=["L9-14-1", "L13-14-1"], connected1=[False, False])
    network = converted(source, tmp_path)
    assert len(network.buses) == 13
    assert [one.key for one in network.idle_loads.identities] == ["load B14-L"]
    assert any("bus 14" in note and "out of service" in note for note in network.conversion_notes)


def test_ratings_are_currents_at_nominal_voltage(tmp_path):
    network = converted(own("eurostag_tutorial_example1_network"), tmp_path)
    rates = network.to_frame("lines").rate_mva
    assert rates[0] == pytest.approx(3**0.5 * 380 * 0.5), "500 A at the weaker end"


def test_limits_do_not_tell_what_a_protected_converter_is_set_to(tmp_path):
    """An attack: at its set point a capability curve has limits from which that can be read."""
    import pypowsybl

    source = pypowsybl.network.create_four_substations_node_breaker_network()
    path = tmp_path / "source.xiidm"
    source.save(str(path), format="XIIDM")
    text = re.sub(
        r'(vscConverterStation id="VSC1".*?point p="-?[0-9.]+" minQ=")-?[0-9.]+(" maxQ=")[0-9.]+',
        r"\g<1>-100.0\g<2>100.0",
        path.read_text(),
        count=1,
        flags=re.DOTALL,
    )
    limits = []
    for power in (10.0, 37.0):
        path.write_text(
            re.sub(r'(id="HVDC1"[^>]*activePowerSetpoint=")[0-9.]+', rf"\g<1>{power}", text)
        )
        generators = load_case(path).generators
        limits.append((generators.q_min.tolist(), generators.q_max.tolist()))
    assert limits[0] == limits[1]
