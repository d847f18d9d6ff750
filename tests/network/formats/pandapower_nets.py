"""pandapower nets for tests."""

from copy import deepcopy
from functools import cache

import pandapower


def feeder(p, q=0.0, buses=6):
    """Return a net of a feeder whose buses 1, 2, … have these loads."""
    net = pandapower.create_empty_network(sn_mva=100)
    at = pandapower.create_buses(net, buses, 110.0, min_vm_pu=0.9, max_vm_pu=1.1)
    pandapower.create_lines_from_parameters(
        net, at[:-1], at[1:], 1.0, 0.01, 0.1, 1.0, 1000.0, max_loading_percent=100
    )
    pandapower.create_ext_grid(net, 0, min_p_mw=-1e6, max_p_mw=1e6, min_q_mvar=-1e6, max_q_mvar=1e6)
    pandapower.create_poly_cost(net, 0, "ext_grid", 1.0)
    for bus, load in enumerate(p, 1):
        pandapower.create_load(net, bus, load, q)
    return net


def everything():
    """Return a net with an element of every kind that a network can hold."""
    return deepcopy(_everything())


@cache
def _everything():
    net = pandapower.create_empty_network(sn_mva=10, f_hz=50, name="everything")
    hv = list(pandapower.create_buses(net, 4, 110.0))
    mv = list(pandapower.create_buses(net, 5, 20.0))
    lv = list(pandapower.create_buses(net, 2, 10.0))
    far = hv[3]
    pandapower.create_ext_grid(net, hv[0], vm_pu=1.02, va_degree=10.0)
    line = {"r_ohm_per_km": 0.12, "x_ohm_per_km": 0.39, "c_nf_per_km": 9.5, "max_i_ka": 0.5}
    for one, other, parallel in ((hv[0], hv[1], 2), (hv[1], hv[2], 1), (hv[0], hv[2], 1)):
        pandapower.create_line_from_parameters(
            net, one, other, 25.0, parallel=parallel, g_us_per_km=0.3, **line
        )
    cable = {"r_ohm_per_km": 0.2, "x_ohm_per_km": 0.12, "c_nf_per_km": 280.0, "max_i_ka": 0.3}
    for one, other in ((mv[0], mv[1]), (mv[1], mv[2]), (mv[2], mv[3])):
        pandapower.create_line_from_parameters(net, one, other, 6.0, **cable)
    pandapower.create_transformer_from_parameters(
        net, hv[1], mv[0], sn_mva=40.0, vn_hv_kv=112.0, vn_lv_kv=20.5, vkr_percent=0.4,
        vk_percent=12.0, pfe_kw=28.0, i0_percent=0.1, shift_degree=150.0, parallel=2,
        tap_side="hv", tap_neutral=0, tap_min=-9, tap_max=9, tap_pos=3, tap_step_percent=1.5,
        tap_changer_type="Ratio",
    )  # fmt: skip
    pandapower.create_transformer_from_parameters(
        net, hv[1], hv[2], sn_mva=60.0, vn_hv_kv=110.0, vn_lv_kv=110.0, vkr_percent=0.3,
        vk_percent=9.0, pfe_kw=20.0, i0_percent=0.05, shift_degree=0.0, tap_side="lv",
        tap_neutral=0, tap_min=-5, tap_max=5, tap_pos=-2, tap_step_percent=0.0,
        tap_step_degree=2.0, tap_changer_type="Ideal",
    )  # fmt: skip
    pandapower.create_transformer3w_from_parameters(
        net, hv[2], mv[4], lv[0], 110.0, 20.0, 10.0, 40.0, 25.0, 15.0, 10.4, 10.5, 11.0, 0.3,
        0.32, 0.35, 30.0, 0.1, shift_mv_degree=30.0, shift_lv_degree=150.0, tap_side="mv",
        tap_neutral=0, tap_min=-8, tap_max=8, tap_pos=-3, tap_step_percent=1.25,
        tap_changer_type="Ratio",
    )  # fmt: skip
    pandapower.create_switch(net, mv[2], 4, et="l", closed=False)  # an end that still charges
    pandapower.create_switch(net, mv[3], mv[4], et="b")
    pandapower.create_switch(net, lv[0], lv[1], et="b", z_ohm=0.05)
    pandapower.create_impedance(net, hv[1], mv[4], 0.1, 0.9, 10.0)
    pandapower.create_shunt(net, mv[1], q_mvar=-1.2, p_mw=0.05, step=2, vn_kv=21.0)
    pandapower.create_ward(net, mv[1], 0.6, 0.2, 0.3, -0.1)
    pandapower.create_xward(net, mv[4], 0.4, 0.1, 0.2, 0.05, 0.4, 1.1, 1.01)
    pandapower.create_gen(net, hv[2], p_mw=15.0, vm_pu=1.01, sn_mva=30.0)
    pandapower.create_sgen(net, mv[3], p_mw=2.0, q_mvar=0.4, sn_mva=3.0, scaling=0.7)
    pandapower.create_storage(net, mv[2], p_mw=-0.5, max_e_mwh=2.0, q_mvar=0.1)
    pandapower.create_motor(
        net, lv[1], pn_mech_mw=0.8, cos_phi=0.85, efficiency_percent=94.0, loading_percent=70.0
    )
    phases = {"p_a_mw": 0.3, "p_b_mw": 0.1, "p_c_mw": 0.2, "q_a_mvar": 0.1, "q_b_mvar": 0.05}
    pandapower.create_asymmetric_load(net, lv[1], **phases)
    pandapower.create_asymmetric_sgen(net, lv[0], **phases)
    pandapower.create_dcline(net, hv[1], far, 5.0, 1.5, 0.1, vm_from_pu=1.01, vm_to_pu=1.0)
    pandapower.create_line_from_parameters(net, hv[2], far, 30.0, **line)
    for bus, p in ((mv[0], 6.0), (mv[1], 3.0), (mv[1], 2.0), (mv[4], 4.0), (far, 9.0)):
        pandapower.create_load(net, bus, p, 0.3 * p, sn_mva=1.5 * p, scaling=0.9)
    pandapower.create_load(net, mv[2], 7.5, 2.5, in_service=False, name="the mill")
    return net
