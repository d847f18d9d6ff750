"""pandapower nets to networks and back, with the OPF costs of both sides compared."""

import warnings
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.network.formats.pandapower_writer import net_from_network, net_with_loads
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf

_NOTICEABLE = 1e-4
"""Relative difference of two OPF costs that is worth a warning."""


class ConversionWarning(UserWarning):
    """What a conversion changed or approximated, or that a network then costs something else."""


def from_pandapower(net: Any, public_injections: Iterable[str] = ()) -> Network:
    """Return the network of a pandapower net, and warn of what was changed or approximated.

    A bus has the number of its index plus 1; buses that closed switches join have the least. Every
    load keeps its key, "load INDEX", as do fixed injections, "sgen INDEX" for example.

    Args:
        net: A pandapowerNet. Without costs in it, every generator costs nothing.
        public_injections: Kinds of fixed injections that are public: "sgen", "storage", "ward",
            "dcline". The others are loads, protected like all.

    Returns:
        The network. A `ConversionWarning` says what was changed, as its `conversion_notes` do.
        Another gives the OPF costs of both sides where there are costs and they differ: pandapower
        limits the current of a line and case files its apparent power, and it has no angle limits.

    Raises:
        CaseError: With everything that is wrong with the tables of the net.
        GridveilError: The net has elements or values that no network can hold, by their names.

    Example:
        >>> import warnings
        >>> import pandapower.networks
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", ConversionWarning)
        ...     network = from_pandapower(pandapower.networks.case9())
        >>> network
        Network('case9': 9 buses, 3 loads, 3 generators, 9 lines, base 100 MVA)
        >>> network.load_identities[0].key
        'load 0'
    """
    pandapower = import_pandapower()
    network = network_from_net(net, str(net.name or "pandapower"), None, public_injections)
    if network.conversion_notes:
        _warn(2, "; ".join(network.conversion_notes))
    if len(net.poly_cost) or len(net.pwl_cost):
        _compare_costs(network, _opf_cost(pandapower, net))
    return network


def to_pandapower(network: Network, into: Any = None) -> Any:
    """Return a network as a pandapower net, or a net with the loads of a network.

    Args:
        network: Any network; with `into`, one that was read from that net or released from it.
        into: The net that the network came from. It is not changed.

    Returns:
        Without `into`, a new pandapowerNet: the bus of number 1 has the index 0. A
        `ConversionWarning` gives both costs where its OPF costs something else. With it, a copy in
        which the network's loads stand under their indices; names, scaling and controllers stay,
        results of power flows and loads out of service are cleared. A `ConversionWarning` says
        what the copy cannot hold, and what still stands in it.

    Raises:
        GridveilError: pandapower cannot hold the network, or the net has other loads.

    Example:
        >>> import warnings
        >>> import pandapower.networks
        >>> warnings.simplefilter("ignore", ConversionWarning)
        >>> net = pandapower.networks.case9()
        >>> network = from_pandapower(net)
        >>> heavier = network.with_loads(1.1 * network.loads.p, network.loads.q)
        >>> to_pandapower(heavier, into=net).load.p_mw.round(1).tolist()
        [99.0, 110.0, 137.5]
    """
    pandapower = import_pandapower()
    if into is not None:
        net, told = net_with_loads(network, into)
        if told:
            _warn(2, "; ".join(told))
        return net
    net = net_from_network(network)
    _compare_costs(network, _opf_cost(pandapower, net))
    return net


def _opf_cost(pandapower: Any, net: Any) -> float | None:
    """Return the cost pandapower's own OPF finds, None if it finds none."""
    copy = deepcopy(net)
    for init in ("flat", "pf"):
        try:
            pandapower.runopp(copy, init=init, calculate_voltage_angles=True)
        except Exception:  # its solver did not converge
            continue
        return float(copy.res_cost)
    return None


def _compare_costs(network: Network, theirs: float | None) -> None:
    ours = solve_acopf(network)
    if theirs is None or not ours.status.solved:
        who = "pandapower" if theirs is None else "Gridveil"
        _warn(3, f"{who} found no OPF solution, so that costs could not be compared")
    elif abs(ours.cost - theirs) > _NOTICEABLE * max(abs(theirs), 1.0):
        _warn(3, f"the network costs {ours.cost:,.2f} $/h here and {theirs:,.2f} $/h in pandapower")


def _warn(callers: int, text: str) -> None:
    """Warn at the line so many calls above, the user's."""
    warnings.warn(text, ConversionWarning, stacklevel=callers + 1)
