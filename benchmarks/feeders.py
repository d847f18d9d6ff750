"""Feeders of pandapower as an OPF needs them: priced supply, no iron losses."""

from functools import cache

from gridveil import Network
from gridveil.network.formats.pandapower_reader import network_from_net

FEEDERS = (
    "create_cigre_network_mv", "mv_oberrhein", "create_kerber_dorfnetz",
    "create_kerber_landnetz_kabel_1", "simple_mv_open_ring_net",
)  # fmt: skip
_PRICE = 60.0
"""In $/MWh, of what the external grid supplies."""


@cache
def feeder(name: str, shifted: bool = False) -> Network:
    """Return a feeder by the name of the function in pandapower.networks that makes it.

    Its transformers have their phase shifts, mostly of 150°, or none.
    """
    import pandapower
    import pandapower.networks

    net = getattr(pandapower.networks, name)()
    net.poly_cost.drop(net.poly_cost.index, inplace=True)
    net.sgen.drop(net.sgen.index, inplace=True)
    net.trafo[["pfe_kw", "i0_percent"]] = 0.0
    if not shifted:
        net.trafo["shift_degree"] = 0.0
    net.bus[["min_vm_pu", "max_vm_pu"]] = 0.9, 1.1
    for grid in net.ext_grid.index:
        pandapower.create_poly_cost(net, int(grid), "ext_grid", cp1_eur_per_mw=_PRICE)
    capacity = float(net.trafo.sn_mva.sum())
    net.ext_grid[["min_p_mw", "max_p_mw"]] = -capacity, capacity
    net.ext_grid[["min_q_mvar", "max_q_mvar"]] = -capacity, capacity
    return network_from_net(net, name)
