"""pandapower networks to ours and back, with the OPF costs of both sides compared."""

import warnings
from copy import deepcopy
from typing import Any

from gridveil.network.formats.pandapower import (
    import_pandapower,
    net_from_network,
    network_from_net,
)
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf

_NOTICEABLE = 1e-4
"""Relative difference of two OPF costs that is worth a warning."""


class ConversionWarning(UserWarning):
    """A converted network does not cost what the original costs."""


def from_pandapower(net: Any) -> Network:
    """Return the network of a pandapower net, and warn if its OPF costs differ from pandapower's.

    Buses get the numbers 1, 2, … in pandapower's internal order. Ideal switches join buses.

    Args:
        net: A pandapowerNet with costs of active power.

    Returns:
        The network. A `ConversionWarning` gives both costs where they differ: pandapower limits
        the current of a line and case files its apparent power, and it has no angle limits.

    Raises:
        GridveilError: The net has elements or values that a case file cannot hold.

    Example:
        >>> import pandapower.networks
        >>> from_pandapower(pandapower.networks.case9())
        Network('case9': 9 buses, 3 loads, 3 generators, 9 lines, base 100 MVA)
    """
    pandapower = import_pandapower()
    network = network_from_net(net, str(net.name or "pandapower"))
    _compare_costs(network, _opf_cost(pandapower, net))
    return network


def to_pandapower(network: Network) -> Any:
    """Return a network as a pandapower net, and warn if its OPF costs differ from ours.

    Args:
        network: Any network.

    Returns:
        A pandapowerNet, with buses numbered from 0. A `ConversionWarning` as for
        `from_pandapower`.

    Raises:
        GridveilError: pandapower cannot hold the network.

    Example:
        >>> import pandapower.networks
        >>> network = from_pandapower(pandapower.networks.case9())
        >>> net = to_pandapower(network)
        >>> len(net.bus), len(net.load)
        (9, 3)
    """
    pandapower = import_pandapower()
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
        warnings.warn(
            f"{who} found no OPF solution, so that costs could not be compared",
            ConversionWarning,
            stacklevel=3,
        )
    elif abs(ours.cost - theirs) > _NOTICEABLE * max(abs(theirs), 1.0):
        warnings.warn(
            f"the network costs {ours.cost:,.2f} $/h here and {theirs:,.2f} $/h in pandapower",
            ConversionWarning,
            stacklevel=3,
        )
