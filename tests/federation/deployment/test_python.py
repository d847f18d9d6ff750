"""The commands from Python: the same names and checks, and nothing starts before these passed."""

import json

import numpy as np
import pytest

from gridveil import Ledger, PolarLaplace, load_case, solve_acopf, verify
from gridveil.errors import GridveilError
from gridveil.federation.deployment.assembly import _guarantee, assemble
from gridveil.federation.deployment.config import CoordinatorConfig, PartyConfig, read_config
from gridveil.federation.deployment.contribution import read_contribution
from gridveil.federation.deployment.federate import federate
from gridveil.federation.deployment.local_configs import write_configs
from gridveil.federation.deployment.members import coordinator, party
from gridveil.federation.deployment.processes import run_members
from gridveil.federation.partition.ownership import partition, write_partition
from gridveil.federation.partition.splitting import split
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport import certs
from tests.cases import in_parts

pytest.importorskip("zenoh", reason="Zenoh is an extra")

CASE = "case5_pjm"


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger"


def test_federate_makes_a_release_that_verifies(tmp_path, ledger):
    costs = solve_acopf(load_case(CASE)).generator_costs
    seen, logged = [], []
    release = federate(
        CASE, partition=partition(CASE, 2), beta=0.1, costs=costs, costs_source="a market report",
        ledger=ledger, max_iterations=300, log=logged.append,
        watch=lambda members: seen.append(sorted(members)),
    )  # fmt: skip
    release.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    assert release.certificate.costs.source == "a market report"
    assert seen[0] == ["coordinator", "party-1", "party-2"]
    assert "verification and report" in logged
    assert {float(account.spent) for account in Ledger(ledger).accounts()} == {1.0}


def test_several_loads_at_a_bus_of_different_parties_are_released_each(tmp_path, ledger):
    network, path = in_parts(load_case(CASE)), tmp_path / "parties.csv"
    write_partition(partition(network, 2), network, path)
    rows = path.read_text().splitlines()
    assert "load,3/2,party-1" in rows
    path.write_text("\n".join(rows).replace("load,3/2,party-1", "load,3/2,party-2") + "\n")
    costs = solve_acopf(network).generator_costs
    made = federate(
        network, partition=path, beta=0.1, costs=costs, costs_source="a market report",
        ledger=ledger, max_iterations=300,
    )  # fmt: skip
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    assert made.certificate.load_buses == [2, 2, 3, 3, 4, 4]
    spent = {account.key: float(account.spent) for account in Ledger(ledger).accounts()}
    # In the one ledger of both, a load may count as its twin at the bus, which is not in its part.
    assert spent.keys() == {f"load {i}" for i in range(6)}
    assert min(spent.values()) == 1.0
    assert {spent[f"load {i}"] for i in (0, 1, 4, 5)} == {1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "either parties, their number, or partition"),
        ({"parties": 2, "partition": "parties.csv"}, "either parties, their number, or partition"),
        ({"parties": 99}, "from 1 to 5"),
        ({"parties": 2, "mechanism": "piecewise"}, "needs public bounds"),
        ({"parties": 2, "mechanism": "unknown"}, "'unknown'"),
        ({"parties": 2, "epsilon": "much"}, "epsilon"),
        ({"parties": 2, "max_iterations": 0}, "federate: max_iterations"),
        ({"parties": 2, "costs": np.ones(5)}, "where these costs were published"),
        ({"parties": 2, "costs_source": "a report"}, "with known --costs only"),
        ({"parties": 2, "key": "nowhere.pem"}, "nowhere.pem"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_charged(ledger, changes, message):
    with pytest.raises(GridveilError, match=message):
        federate(CASE, ledger=ledger, **changes)
    assert not ledger.exists()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """What a federation published, in a folder."""
    folder = tmp_path_factory.mktemp("federation")
    slices = split(CASE, partition(CASE, 2), "derived", declare_public="costs")
    run = Run(
        id="spring", parties=("party-1", "party-2"), epsilon="1", alpha="0.1", beta=0.1,
        max_iterations=300, patience=60, costs_derived=slices[0].costs_derived,
    )  # fmt: skip
    write_configs(folder, slices, run, folder / "ledger")
    run_members(folder, slices)
    return folder


def test_assemble_takes_files(published, tmp_path):
    files = [published / "party-1.released", str(published / "party-2.released")]
    made = assemble(CASE, files, outcome=published / "coordinator.outcome")
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    assert made.certificate.costs.provenance == "derived"


def test_a_promise_read_from_contributions_is_the_mechanisms(published):
    files = [published / f"party-{i}.released" for i in (1, 2)]
    contributions = [read_contribution(path) for path in files]
    assert _guarantee(contributions) == PolarLaplace.of(1, "0.1").guarantee()
    odd = [
        each.model_copy(update={"guarantee": {**each.guarantee, "kind": "none"}})
        for each in contributions
    ]
    with pytest.raises(GridveilError, match="party-1: its guarantee: 'none' is not a valid"):
        _guarantee(odd)


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        (["party-1"], {}, "is the contribution of a party missing?"),
        (["party-1", "party-2"], {"costs_source": "a report"}, "are derived, not published"),
        (["party-1", "party-2", "party-2"], {}, "two parties contribute it"),
    ],
)
def test_contributions_that_do_not_belong_together(published, names, changes, message):
    files = [published / f"{name}.released" for name in names]
    with pytest.raises(GridveilError, match=message):
        assemble(CASE, files, **changes)


def test_a_contribution_of_an_earlier_run_is_not_overwritten(published, tmp_path):
    config = read_config(published / "party-1.toml", PartyConfig)
    other = config.run.model_copy(update={"id": "autumn"})
    slice_file = tmp_path / "slice.json"
    slice_file.write_text(
        split(CASE, partition(CASE, 2), "derived", declare_public="costs")[0].model_dump_json()
    )
    with pytest.raises(GridveilError, match="is of another party or run"):
        party(config.model_copy(update={"run": other, "slice": slice_file}))
    released = json.loads((published / "party-1.released").read_text())
    assert released["run"]["id"] == "spring"


def test_a_coordinator_checks_its_folders(published, tmp_path):
    config = read_config(published / "coordinator.toml", CoordinatorConfig)
    nowhere = tmp_path / "nowhere" / "outcome.json"
    with pytest.raises(GridveilError, match="there is no folder"):
        coordinator(config.model_copy(update={"outcome": nowhere}))


def test_certs_take_the_defaults_of_the_command(tmp_path):
    certs.init(tmp_path / "authority")
    identity = certs.issue(tmp_path / "authority", "party-1", tmp_path / "members", "127.0.0.1")
    certs.check_identity(identity, "party-1")
