"""`gridveil release`: the whole chain, from a network to a folder that can be published."""

import hashlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from gridveil.admm.device import Device
from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.cli.budget import LedgerOption, existing_ledger
from gridveil.cli.display import Mode, display
from gridveil.cli.options import (
    AlphaOption,
    BetaOption,
    CalibrationOption,
    CaseArgument,
    CostsOption,
    CostsSourceOption,
    DeviceOption,
    EpsilonOption,
    MechanismOption,
    StartOption,
    refuse_agent_options,
)
from gridveil.cli.output import console, print_json
from gridveil.errors import GridveilError
from gridveil.fidelity.phase import check_choices
from gridveil.fidelity.registry import BandKind, Method
from gridveil.files import read_toml
from gridveil.network.library import load_case
from gridveil.network.network import Network
from gridveil.privacy.bounds import read_bounds
from gridveil.privacy.calibration import exact
from gridveil.privacy.ledger import Ledger, default_path, network_id
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.registry import Calibrations, MechanismName, make_mechanism
from gridveil.privacy.phase import owner_of, spending

if TYPE_CHECKING:
    from gridveil.publication.certificate import Certificate

_NOISE_DRAWS = 100_000


def _from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Take options from a TOML file as if they stood on the command line, which comes first."""
    if path is None:
        return None
    content = read_toml(path)
    spelled = {
        name.lstrip("-").replace("-", "_"): option.name
        for option in context.command.params
        for name in option.opts
        if name.startswith("--")
    }
    spelled["case"] = "case"
    values: dict[str, Any] = {}
    for name, value in content.items():
        option = spelled.get(name.replace("-", "_"))
        if option is None or option == "config":
            raise GridveilError(f"{path}: no option named {name!r}; see 'gridveil release --help'")
        values[option] = value if isinstance(value, bool | list) else str(value)
    context.default_map = {**(context.default_map or {}), **values}
    return path


def release(
    context: typer.Context,
    case: CaseArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The folder to make; must not exist yet.")
    ] = None,
    epsilon: EpsilonOption = "1",
    alpha: AlphaOption = "0.1",
    beta: BetaOption = "0.01",
    mechanism: MechanismOption = MechanismName.POLAR_LAPLACE,
    calibration: CalibrationOption = Calibrations.SOUND,
    bounds: Annotated[
        Path | None,
        typer.Option(help="Public bounds, a CSV: for the piecewise mechanism, or to clamp to."),
    ] = None,
    accept_unsound: Annotated[
        bool,
        typer.Option("--accept-unsound", help="Use a calibration that does not keep its ε."),
    ] = False,
    method: Annotated[
        Method,
        typer.Option(
            help="bilevel: the optimal cost in its band; central: that of a dispatch; admm: agents."
        ),
    ] = Method.BILEVEL,
    band: Annotated[
        BandKind, typer.Option(help="Whose cost stays within beta: each generator's, or all.")
    ] = BandKind.GENERATOR,
    policy: Annotated[Policy, typer.Option(help="admm: how penalties change.")] = Policy.FAST,
    device: DeviceOption = Device.CPU,
    start: StartOption = Start.AUTO,
    polish: Annotated[
        bool,
        typer.Option(help="admm: a central last step, to the 1e-6 p.u. that a release must keep."),
    ] = True,
    costs: CostsOption = None,
    cost_budget: Annotated[
        str | None,
        typer.Option(help="Part of ε that buys a private total load, from which O* is computed."),
    ] = None,
    costs_source: CostsSourceOption = "",
    load_buses: Annotated[
        Path | None,
        typer.Option(help="Public list of load buses, one number a line; else those with a load."),
    ] = None,
    release_id: Annotated[
        str | None,
        typer.Option(help="Name of the draw; the same id never draws or charges again."),
    ] = None,
    ledger: LedgerOption = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign with this Ed25519 private key (PEM).")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Take options from this TOML file.", callback=_from_file, is_eager=True),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would spend and add; touch nothing.")
    ] = False,
    private_report: Annotated[
        bool,
        typer.Option(
            "--private-report",
            help="Also make OUTPUT-private, a report with raw loads: not to be published.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Show progress as plain lines, for a log.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a certified private release of a network: a folder that can be published.

    Exit status: 0 released, 2 bad input or not enough budget.

    Examples:
    gridveil release case39_epri --epsilon 1 --alpha 0.1 --beta 0.01 -o out

    gridveil release mine.m --method admm --sign key.pem -o out

    gridveil release mine.m --config release.toml --dry-run

    """
    del config
    refuse_agent_options(context, method)
    network = load_case(case, None if load_buses is None else _read_buses(load_buses))
    limits = None if bounds is None else read_bounds(bounds, network)
    for_loads = exact(epsilon, "epsilon")
    if cost_budget is not None:
        for_loads -= exact(cost_budget, "cost-budget")
        if for_loads <= 0:
            raise GridveilError(
                f"--cost-budget: must be below ε = {epsilon}, of which it is a part"
            )
    chosen: Mechanism = make_mechanism(
        mechanism, for_loads, alpha, calibration=calibration.value, bounds=limits
    )
    if limits is not None and mechanism is not MechanismName.PIECEWISE:
        chosen = Clamped(chosen, limits)
    share = float(exact(beta, "beta"))
    check_choices(
        share, method, band, AgentOptions(device=device) if method is Method.ADMM else None
    )
    if not len(network.loads):
        raise GridveilError(f"{network.name} has no loads, so there is nothing to protect")
    if costs is None and costs_source:
        raise GridveilError("--costs-source: means something with --costs only")
    if costs is not None and cost_budget is not None:
        raise GridveilError("--costs and --cost-budget: known costs need not be bought; drop one")
    # What takes long to import, or needs keys and costs that may be wrong, comes before the draw.
    from gridveil.publication.costs import read_costs
    from gridveil.publication.folder import check_writable, write_folder
    from gridveil.publication.make import release as make_release
    from gridveil.publication.report.private_page import private_page
    from gridveil.publication.signing import read_private_key

    key = None if sign is None else read_private_key(sign)
    public = None if costs is None else read_costs(costs, costs_source, network)
    if dry_run:
        figures = _plan(network, chosen, exact(epsilon, "epsilon"), ledger or default_path())
        print_json(figures) if as_json else _print_plan(figures)
        return
    if output is None:
        raise GridveilError("-o: name the folder to make")
    check_writable(output)
    if private_report:
        check_writable(_private_folder(output))
    name = release_id
    if name is None:
        source = "published" if costs else "derived" if cost_budget is None else cost_budget
        name = _default_id(network, chosen, source)
    book = Ledger(ledger or default_path())
    known = book.knows(name)
    mode = Mode.QUIET if quiet else Mode.PLAIN if plain else Mode.LIVE
    with display(mode, AgentOptions().max_iterations) as shown:
        agents = None
        if method is Method.ADMM:
            agents = AgentOptions(
                policy=policy,
                polish=polish,
                progress=shown.agents,
                notify=shown.say,
                device=device,
                start=start,
            )
        result = make_release(
            network,
            chosen,
            share,
            book,
            name,
            costs=public,
            cost_budget=cost_budget,
            method=method,
            band=band,
            agents=agents,
            accept_unsound=accept_unsound,
            key=key,
            tell=shown.phase,
        )
        result.save(output)
        if private_report:
            assert result.noisy is not None
            page = private_page(network, result.noisy, result.published.network)
            write_folder(_private_folder(output), {"report.html": page}, private=True)
    if as_json:
        print_json({"folder": str(output), **result.certificate.model_dump(mode="json")})
    elif not quiet:
        _print_release(result.certificate, output, private_report, known)


def _print_release(
    certificate: "Certificate", output: Path, private_report: bool, known: bool
) -> None:
    fidelity, protection = certificate.fidelity, certificate.protection
    if known:
        console.print(
            f"with the noise drawn at {certificate.drawn_at} under this release id: nothing was "
            "drawn or charged again (another --release-id draws anew)",
            style="yellow",
            highlight=False,
        )
    console.print(
        f"[bold green]released[/] to {escape(str(output))} (release id "
        f"{escape(certificate.release_id)})",
        highlight=False,
    )
    console.print(protection.promise)
    console.print(
        f"AC-feasible to {fidelity.max_violation:.0e} p.u.; cost of its dispatch "
        f"{fidelity.cost_gap_dispatch:+.3%}, of its optimal dispatch "
        f"{fidelity.cost_gap_optimal:+.3%} against O*"
    )
    if certificate.costs.provenance == "derived":
        console.print(
            "the costs O* were computed from the raw loads and are not protected; the certificate "
            "says so",
            style="yellow",
        )
    console.print(
        f"each load has spent ε = {protection.cumulative_epsilon:g} up to this draw; comments and "
        "other sections of the case file are published as they stand"
    )
    if private_report:
        console.print(
            f"{_private_folder(output)} contains raw data, do not publish",
            style="bold red",
            markup=False,
            highlight=False,
        )
    console.print(f"check it with: gridveil verify {output}", style="dim", markup=False)


def _private_folder(output: Path) -> Path:
    """Return the folder for raw data: beside the release, so that nobody publishes it with it."""
    return output.with_name(f"{output.name}-private")


def _read_buses(path: Path) -> list[int]:
    buses = []
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
            if line.strip() and line.strip().lower() != "bus":
                try:
                    buses.append(_bus_number(line))
                except ValueError:
                    raise GridveilError(f"{path}:{number}: a bus number is needed") from None
    except (OSError, UnicodeDecodeError) as error:
        raise GridveilError(f"{path}: cannot be read: {error}") from None
    return buses


def _bus_number(text: str) -> int:
    number = int(text)
    if not 0 < number < 2**53:
        raise ValueError(text)
    return number


def _default_id(network: Network, mechanism: Mechanism, costs: str) -> str:
    """Return the id of a release without one: the same network and parameters draw once."""
    told = f"{network_id(network)} {mechanism.specification()} {costs}"
    digest = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{network.name}-{digest}"


def _plan(network: Network, mechanism: Mechanism, epsilon: Fraction, path: Path) -> dict[str, Any]:
    """Return what a release would spend and how much noise that is, from public numbers alone."""
    guarantee = replace(mechanism.guarantee(), epsilon=float(epsilon))
    with existing_ledger(path) as opened:
        charge = opened.check(spending(owner_of(network), guarantee.epsilon, guarantee.distance))
    count = len(network.loads)
    at_zero = np.zeros((count * (_NOISE_DRAWS // count + 1), 2))
    noise = np.zeros((0, 2))
    if guarantee.scale is not None:
        inner = mechanism.mechanism if isinstance(mechanism, Clamped) else mechanism
        noise = inner.simulate(at_zero, np.random.default_rng(0)) * network.base_mva
    size = np.hypot(*noise.T)
    return {
        "network": network.name,
        "loads": count,
        "epsilon": guarantee.epsilon,
        "charge": float(charge),
        "promise": guarantee.sentence(network.base_mva),
        "noise_median_mva": float(np.median(size)) if len(size) else None,
        "noise_90_percent_mva": float(np.quantile(size, 0.9)) if len(size) else None,
        "noise_p_standard_deviation_mw": float(noise[:, 0].std()) if len(size) else None,
    }


def _print_plan(figures: dict[str, Any]) -> None:
    console.print(f"dry run of {figures['network']}: nothing is drawn, nothing is spent")
    console.print(figures["promise"])
    console.print(f"each of {figures['loads']} loads would be charged ε = {figures['charge']:g}")
    if figures["noise_median_mva"] is not None:
        console.print(
            f"half of the loads would move by less than {figures['noise_median_mva']:.1f} MVA, "
            f"nine out of ten by less than {figures['noise_90_percent_mva']:.1f} MVA; P alone has "
            f"a standard deviation of {figures['noise_p_standard_deviation_mw']:.1f} MW"
        )
