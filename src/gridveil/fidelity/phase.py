"""The fidelity phase: `restore` moves noisy loads just far enough that the network works."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from gridveil.admm.device import chosen_device
from gridveil.admm.options import AgentOptions
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bilevel import solve_bilevel
from gridveil.fidelity.central import bands_of, solve_central
from gridveil.fidelity.registry import BandKind, Method, chosen
from gridveil.fidelity.result import Restored, judged
from gridveil.network.network import Network
from gridveil.privacy.phase import NoisyLoads


def restore(
    network: Network,
    noisy: NoisyLoads,
    costs: FloatArray,
    beta: float,
    method: Method | str = Method.CENTRAL,
    band: BandKind | str = BandKind.GENERATOR,
    agents: AgentOptions | None = None,
) -> Restored:
    """Return the loads closest to the noisy ones with which the network works.

    `costs` are the public costs O*_g in $/h, `beta` how far the costs may be off them, relatively:
    of every generator (`band="generator"`, the paper's Model 3), or in total. "central" solves the
    paper's P_RBL: some dispatch within the bands serves the loads. "bilevel" solves P_BL: also the
    optimal dispatch of the restored network costs what it should, in total. "admm" solves P_RBL
    among agents, as `agents` says; Ctrl-C ends it with what was reached.

    Of `network`, the values of the loads are not used, only where they are.
    """
    method, band = chosen(Method, method, "method"), chosen(BandKind, band, "band")
    costs = check_settings(network, costs, beta, method, band, agents)
    loads = _loads(network, noisy)
    started = time.perf_counter()
    if method is Method.ADMM:
        # Numba takes a while to import: only who needs it waits.
        from gridveil.fidelity.agents import solve_admm

        found = solve_admm(network, loads, costs, beta, agents or AgentOptions())
    elif method is Method.BILEVEL:
        found = solve_bilevel(network, loads, costs, beta, band)
    else:
        found = solve_central(network, loads, costs, beta, band)
    return judged(network, loads, costs, method, found, time.perf_counter() - started)


def restore_many(
    network: Network,
    draws: Sequence[NoisyLoads],
    costs: FloatArray,
    beta: float,
    agents: AgentOptions | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Restored]:
    """Restore many draws of one network among agents, as many at once as there are threads.

    `progress` gets how many draws are done; `threads` is one per core unless said otherwise. On a
    GPU all draws that fit run at once, whatever `threads` says.
    """
    from gridveil.fidelity.agents import solve_admm_many

    costs = check_settings(network, costs, beta, Method.ADMM, BandKind.GENERATOR, agents)
    loads = [_loads(network, noisy) for noisy in draws]
    options = agents or AgentOptions()
    found = solve_admm_many(network, loads, costs, beta, options, threads, progress)
    return [
        judged(network, draw, costs, Method.ADMM, one, one.agents.seconds if one.agents else 0.0)
        for draw, one in zip(loads, found, strict=True)
    ]


def check_choices(beta: float, method: Method, band: BandKind, agents: AgentOptions | None) -> None:
    """Refuse what does not fit together, whatever the network and its costs."""
    if agents is not None and method is not Method.ADMM:
        raise GridveilError(f"agents: options of the agents mean nothing to method {method!r}")
    if method is Method.ADMM and band is not BandKind.GENERATOR:
        raise GridveilError(
            "a band on the total cost couples all generators, which agents on their own cannot "
            "keep; use the bands per generator, or another method"
        )
    if agents is not None:
        chosen_device(agents.device, 0)  # a GPU that is not there
    if not 0 <= beta < np.inf:
        raise GridveilError(f"beta: {beta} must be 0 or more; 0.01 keeps costs within 1 %")


def check_settings(
    network: Network,
    costs: FloatArray,
    beta: float,
    method: Method,
    band: BandKind,
    agents: AgentOptions | None,
) -> FloatArray:
    """Refuse what `restore` could not work with, before any noise is drawn; return the costs."""
    check_choices(beta, method, band, agents)
    costs = np.asarray(costs, dtype=float)
    if costs.shape != network.generators.p_min.shape or not np.isfinite(costs).all():
        raise GridveilError(
            f"costs: one finite number for each of the {len(network.generators)} generators needed"
        )
    bands_of(network, costs, beta, band)
    return costs


def _loads(network: Network, noisy: NoisyLoads) -> FloatArray:
    if noisy.p.shape != network.loads.p.shape:
        raise GridveilError(f"{len(noisy.p)} noisy loads for a network of {len(network.loads)}")
    if not (np.isfinite(noisy.p).all() and np.isfinite(noisy.q).all()):
        raise GridveilError("every noisy load must be a finite number")
    return np.stack([noisy.p, noisy.q], axis=1)
