"""The public interface: flat, complete, and the same in Python and on the command line."""

import inspect
import subprocess
import sys

import pytest
import typer

import gridveil
from gridveil import AgentOptions, Study, defaults
from gridveil.cli.app import app
from gridveil.federation.protocol.settings import Run
from gridveil.fidelity.registry import make_method
from gridveil.publication.plan import ReleaseChoices

SHOWN = {"as_json", "quiet", "plain", "dry_run", "config", "help", "private_report", "output"}
"""Options about what is printed, read from where, or written where."""
SAME = {
    "case": "network",
    "sign": "key",
    "accept_match": "accept_matches",
    "save_costs": "",
    "load_buses": "",
    "profile_power_factor": "power_factor",
    "first_step": "start",
    "public_injections": "",
    "plot": "",
    "csv": "",
    "bus": "buses",
    "load": "loads",
    "certificate": "certificates",
    "to": "",
}
"""Options that Python names otherwise, or has functions of their own for."""
FUNCTIONS = {"export": "export_release"}
"""Commands whose function in Python says more."""
OF_ONE = {("split", "parties"): "partition", ("federate", "partition_file"): "partition"}
CLUSTER = {"dask", "tls_ca", "tls_cert", "tls_key"}


def commands():
    """Every command with its function in Python: `budget cap` is gridveil.budget.cap."""
    whole = typer.main.get_command(app)
    for name, command in whole.commands.items():
        if hasattr(command, "commands"):
            for inner, inner_command in command.commands.items():
                yield f"{name}.{inner}", inner_command
        else:
            yield name, command


COMMANDS = dict(commands())


def python_function(name):
    found = gridveil
    for part in FUNCTIONS.get(name, name).split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_function_with_the_same_parameters(name):
    parameters = set(inspect.signature(python_function(name)).parameters)
    if name == "release":
        for further in (
            gridveil.plan_release,
            gridveil.plan_series_release,
            gridveil.release_series,
            gridveil.load_series,
        ):
            parameters |= set(inspect.signature(further).parameters)
    agents = set(inspect.signature(AgentOptions).parameters)
    for option in COMMANDS[name].params:
        if option.name in SHOWN:
            continue
        wanted = OF_ONE.get((name, option.name), SAME.get(option.name, option.name))
        known = wanted in parameters or ("agents" in parameters and wanted in agents)
        known = known or (option.name in CLUSTER and "cluster" in parameters)
        assert known or not wanted, f"{name}: {option.name}"


def test_release_takes_what_a_plan_takes():
    parameters = set(inspect.signature(gridveil.plan_release).parameters)
    assert set(ReleaseChoices.__annotations__) == parameters - {"network", "ledger"}


@pytest.mark.parametrize("name", ["release", "plan", "simulate", "audit"])
def test_command_line_and_python_share_their_defaults(name):
    function = python_function("plan_release" if name == "release" else name)
    parameters = inspect.signature(function).parameters
    for option in COMMANDS[name].params:
        if option.name in parameters and option.default is not None:
            default = parameters[option.name].default
            if default is not None:  # decided where the function has more to go by
                assert str(option.default) == str(default), option.name


def test_studies_and_federations_have_the_same_defaults():
    study = Study(cases=("case5_pjm",))
    assert (study.mechanisms, study.calibrations) == (
        (defaults.MECHANISM,),
        (defaults.CALIBRATION,),
    )
    assert study.methods == (defaults.METHOD,)
    assert (study.epsilons, study.alphas, study.betas) == ((1.0,), (0.1,), (0.01,))
    run = Run(id="x", parties=("a",), epsilon=defaults.EPSILON, alpha=defaults.ALPHA, beta=0.01)
    assert run.mechanism == "polar-laplace", "what configurations of before mean"
    options = AgentOptions()
    assert options.max_iterations == run.max_iterations == study.max_iterations
    assert options.tolerance == run.tolerance == study.tolerance
    assert make_method(None).name == defaults.METHOD
    assert inspect.signature(gridveil.restore).parameters["method"].default is None


def test_every_public_name_is_there_and_listed():
    for name in gridveil.__all__:
        assert getattr(gridveil, name) is not None
    assert set(gridveil.__all__) == set(dir(gridveil))
    with pytest.raises(AttributeError):
        _ = gridveil.nothing_of_the_kind


def test_importing_imports_nothing_heavy():
    code = "import gridveil, sys; assert not {'numpy', 'numba', 'pydantic'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
