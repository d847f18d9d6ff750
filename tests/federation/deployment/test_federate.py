"""Whole federations in real processes: released, recorded, killed, and left alone."""

import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from gridveil import (
    AgentOptions,
    Ledger,
    PolarLaplace,
    PublicCosts,
    load_case,
    restore,
    solve_acopf,
    verify,
)
from gridveil.cli.app import app
from gridveil.federation.deployment.contribution import read_contribution
from gridveil.federation.deployment.noise import party_owner
from gridveil.federation.names import COORDINATOR
from gridveil.federation.partition.ownership import partition
from gridveil.federation.partition.splitting import split
from gridveil.federation.protocol.messages import run_digest
from gridveil.federation.protocol.settings import Run
from gridveil.federation.transport.recording import read_recording
from gridveil.privacy.phase import NoisyLoads, Origin, privatise_loads

pytest.importorskip("zenoh", reason="Zenoh is an extra")
from gridveil.federation.deployment.local_configs import write_configs
from gridveil.federation.deployment.processes import run_members, start_member

BETA = 0.1


def marked(network):
    """Return a network whose numbers occur nowhere else: each is off by a little of its own."""
    factors = iter(1 + 1.23456789e-7 * np.arange(1, 10_000))

    def own(array):
        return array * np.array([next(factors) for _ in range(array.size)]).reshape(array.shape)

    lines, gens = network.lines, network.generators
    changed = {name: own(getattr(lines, name)) for name in ("r", "x", "b", "rate")}
    costs = replace(gens.costs, coefficients=own(gens.costs.coefficients))
    return replace(
        network,
        loads=replace(network.loads, p=own(network.loads.p), q=own(network.loads.q)),
        generators=replace(gens, costs=costs),
        lines=replace(lines, **changed),
    )


class Federation:
    """A federation in a folder, ready to be started."""

    def __init__(self, folder, case="case39_epri", count=5, addresses=None, **changes):
        self.folder, self.network = folder, marked(load_case(case))
        self.costs = solve_acopf(self.network).generator_costs
        owned = partition(self.network, count)
        self.slices = {
            part.party: part
            for part in split(self.network, owned, PublicCosts.published(self.costs, "a report"))
        }
        self.run = Run(
            **{"id": "spring", "parties": owned.parties, "epsilon": "1", "alpha": "0.1",
               "beta": BETA, "patience": 60, **changes}
        )  # fmt: skip
        self.ledger = folder / "ledger"
        write_configs(
            folder, list(self.slices.values()), self.run, self.ledger, addresses=addresses
        )
        self.names = [*self.slices, COORDINATOR]

    def start(self, name):
        process = start_member(self.folder / f"{name}.toml", self.slices.get(name))
        # Nobody looks at progress here, but it must go somewhere.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        return process

    def drawn(self):
        """Return the noise that stands in the ledger, and when it was drawn."""
        mechanism, loads, times = PolarLaplace.of(1, "0.1"), {}, {}
        for part in self.slices.values():
            buses = [load.bus for load in part.loads]
            owner = party_owner(part)
            name = f"{self.run.id}/{part.party}"
            ledger = Ledger(self.ledger)
            assert ledger.knows(name)
            own = privatise_loads(owner, part.true_loads(), mechanism, ledger, name)
            loads |= dict(zip(buses, zip(own.p, own.q, strict=True), strict=True))
            times[name] = ledger.entry(name)
        p, q = np.array([loads[bus] for bus in self.network.load_buses]).T
        return NoisyLoads(p, q, mechanism.guarantee(), Origin.EXACT, self.run.id), times

    def assert_as_in_one_process(self):
        noisy, _ = self.drawn()
        options = AgentOptions(max_iterations=self.run.max_iterations, tolerance=self.run.tolerance)
        one = restore(self.network, noisy, self.costs, BETA, "admm", agents=options)
        released = {}
        for party in self.slices:
            contribution = read_contribution(self.folder / f"{party}.released")
            assert contribution.iterations == one.agents.iterations
            released |= {load.bus: (load.p, load.q) for load in contribution.loads}
        mine = np.array([released[bus] for bus in self.network.load_buses])
        np.testing.assert_array_equal(mine, one.network.loads.values)


def test_the_command_makes_a_release_that_verifies(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger"))
    out = tmp_path / "out"
    arguments = ["federate", "case14_ieee", "--parties", "3", "--beta", "0.1", "-o", str(out)]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "released" in shown.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        "certificate.json", "history.csv", "loads.csv", "network.m", "positions.csv", "report.html",
    ]  # fmt: skip
    assert verify(out).ok
    told = json.loads((out / "certificate.json").read_text())
    assert (told["private_as_a_whole"], told["costs"]["provenance"]) == (True, "private")
    # Each load was charged once; the same command again draws nothing.
    again = CliRunner().invoke(app, [*arguments[:-1], str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    for name in ("loads.csv", "network.m"):
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    ledger = Ledger(tmp_path / "ledger")
    assert {float(account.spent) for account in ledger.accounts()} == {1.0}


def test_by_hand_from_partition_to_release(tmp_path):
    runner = CliRunner()

    def command(*arguments):
        told = runner.invoke(app, [str(argument) for argument in arguments])
        assert told.exit_code == 0, told.output
        return told.stdout

    parties, slices = tmp_path / "parties.csv", tmp_path / "slices"
    told = command("partition", "case14_ieee", "--parties", 2, "-o", parties)
    assert "who sends whom what" in told
    refused = runner.invoke(app, ["split", "case14_ieee", str(parties), "-o", str(slices)])
    assert refused.exit_code != 0  # private costs follow from loads that nobody has drawn
    declared = "--costs", "derived", "--declare-public", "costs"
    command("split", "case14_ieee", parties, *declared, "-o", slices)
    assert (slices / "party-1.json").stat().st_mode & 0o077 == 0
    command("certs", "init", tmp_path / "authority", "--consortium", "north")
    for name in ("party-1", "party-2", COORDINATOR):
        command(
            "certs", "issue", tmp_path / "authority", name, "-o", tmp_path / "members",
            "--host", "127.0.0.1",
        )  # fmt: skip
    told = runner.invoke(
        app, ["certs", "init", str(tmp_path / "authority"), "--consortium", "north"]
    )
    assert told.exit_code != 0  # never over another


def test_no_message_holds_raw_or_foreign_data(tmp_path):
    federation = Federation(tmp_path, "case14_ieee", 3, max_iterations=200, tolerance=0)
    for name in federation.names:
        path = tmp_path / f"{name}.toml"
        path.write_text(f'record = "{name}.record"\n' + path.read_text())
    run_members(tmp_path, list(federation.slices.values()), lambda _: None)
    base = federation.network.base_mva
    planted = {}
    for part in federation.slices.values():
        private = {value for load in part.loads for value in (load.p, load.q)}
        for line in part.lines:
            private |= {line.r, line.x, line.b, line.rate}
        for gen in part.generators:
            private |= {gen.public_cost, *gen.coefficients}
        planted[part.party] = {value for value in private if value and np.isfinite(value)}
        assert len(planted[part.party]) > 10
    run = run_digest(federation.run.id)
    for name in federation.names:
        messages = list(read_recording(tmp_path / f"{name}.record"))
        assert len(messages) > 100
        for _, _, data in messages:
            assert data[:4] == b"GVF1"
            assert run in data[:32]
        said = b"".join(data for _, _, data in messages)
        numbers = {value for (value,) in struct.iter_unpack("<d", said[: len(said) // 8 * 8])}
        for _, _, data in messages:
            numbers |= set(np.frombuffer(data, dtype="<f8", offset=32).tolist())
        for party, values in planted.items():
            for value in values:
                for form in (value, value * base):
                    assert form not in numbers, (name, party)
                    assert struct.pack("<d", form) not in said
                    assert repr(form).encode() not in said
    # A party's record has messages of its neighbours and the coordinator only.
    for party, part in federation.slices.items():
        peers = {who for _, who, _ in read_recording(tmp_path / f"{party}.record")}
        assert peers == {*part.neighbours, COORDINATOR}
    # The coordinator hears reports of so many numbers, whatever the size of a party.
    sizes = {
        len(data) for way, _, data in read_recording(tmp_path / f"{COORDINATOR}.record")
        if way == b"i" and data[4] == 4
    }  # fmt: skip
    assert sizes == {32 + 8 * (10 * 6 + 2)}


def test_members_killed_at_twenty_moments_change_nothing(tmp_path):
    federation = Federation(tmp_path, max_iterations=3000, tolerance=0)
    choose = random.Random(11)
    running = {name: federation.start(name) for name in federation.names}
    wait_for(lambda: all(iteration_of(tmp_path, party) > 0 for party in federation.slices))
    drawn, times = federation.drawn()
    for _ in range(20):
        name = choose.choice(federation.names)
        assert running[name].poll() is None, running[name].stderr.read()
        running[name].send_signal(signal.SIGKILL)
        running[name].wait()
        before = iteration_of(tmp_path, "party-3")
        running[name] = federation.start(name)
        wait_for(lambda before=before: iteration_of(tmp_path, "party-3") > before + 2)
        time.sleep(choose.uniform(0.0, 0.2))
    assert iteration_of(tmp_path, "party-3") < federation.run.max_iterations
    for name, process in running.items():
        assert process.wait(timeout=120) == 0, (name, process.stderr.read())
    federation.assert_as_in_one_process()
    noisy, later = federation.drawn()
    np.testing.assert_array_equal(drawn.p, noisy.p)
    assert times == later


def iteration_of(folder, party):
    """Return the last iteration that a party saved."""
    try:
        return np.fromfile(folder / f"{party}.state", dtype="<f8", count=5)[4]
    except (FileNotFoundError, IndexError):
        return -1


def test_a_party_that_never_comes_back_is_named_by_the_others(tmp_path):
    federation = Federation(
        tmp_path, "case14_ieee", 3, max_iterations=1_000_000, tolerance=0, patience=3
    )
    running = {name: federation.start(name) for name in federation.names}
    wait_for(lambda: all((tmp_path / f"{name}.state").exists() for name in federation.names))
    time.sleep(1.0)
    running["party-2"].kill()
    lost = time.monotonic()
    for name, process in running.items():
        if name == "party-2":
            continue
        assert process.wait(timeout=30) == 2
        assert "no message from party-2" in process.stderr.read(), name
    assert time.monotonic() - lost < 25


def wait_for(condition):
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def namespaces_allowed():
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    made = subprocess.run(["ip", "netns", "add", "gridveil-try"], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", "gridveil-try"], capture_output=True, check=False)
    return made.returncode == 0


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def spaces():
    """Six network namespaces with an address each, on one bridge."""
    try:
        allowed = namespaces_allowed()
    except OSError:
        allowed = False
    if not allowed:
        pytest.skip("network namespaces are not allowed here")
    names = [f"gv{i}" for i in range(6)]
    try:
        ip("link", "add", "gvbridge", "type", "bridge")
        ip("link", "set", "gvbridge", "up")
        for i, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", f"gvh{i}", "type", "veth", "peer", "name", f"gvn{i}")
            ip("link", "set", f"gvn{i}", "netns", name)
            ip("link", "set", f"gvh{i}", "master", "gvbridge")
            ip("link", "set", f"gvh{i}", "up")
            ip("-n", name, "addr", "add", f"10.231.7.{i + 1}/24", "dev", f"gvn{i}")
            ip("-n", name, "link", "set", f"gvn{i}", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be set up here: {error.stderr.decode()[:100]}")
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", "gvbridge"], capture_output=True, check=False)


def test_five_parties_in_five_network_namespaces(spaces, tmp_path):
    names = [f"party-{i + 1}" for i in range(5)] + [COORDINATOR]
    addresses = {name: f"10.231.7.{i + 1}:7447" for i, name in enumerate(names)}
    federation = Federation(tmp_path, addresses=addresses, max_iterations=600)
    processes = {}
    for space, name in zip(spaces, names, strict=True):
        command = "coordinator" if name == COORDINATOR else "party"
        part = federation.slices.get(name)
        process = subprocess.Popen(
            ["ip", "netns", "exec", space, sys.executable, "-m", "gridveil", command, "--config",
             str(tmp_path / f"{name}.toml")],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        process.stdin.write("" if part is None else part.model_dump_json())
        process.stdin.close()
        processes[name] = process
    for name, process in processes.items():
        assert process.wait(timeout=120) == 0, (name, process.stderr.read())
    federation.assert_as_in_one_process()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('name = "party-1"', 'name = "party-9"'), "party-9"),
        (lambda text: re.sub(r"coordinator = .*", "", text), "address of coordinator is missing"),
        (lambda text: text.replace('epsilon = "1"', 'epsilon = ""'), "run.epsilon"),
        (lambda text: text + '\nstranger = "127.0.0.1:1"', "stranger"),
        (lambda text: text.replace("certificate = ", "certificat = "), "certificat"),
    ],
)
def test_a_wrong_configuration_is_told(tmp_path, change, message):
    federation = Federation(tmp_path, "case14_ieee", 3)
    path = tmp_path / "party-1.toml"
    path.write_text(change(path.read_text()))
    process = federation.start("party-1")
    assert process.wait(timeout=60) == 2
    told = process.stderr.read()
    assert message in told
    assert "Traceback" not in told


def test_nothing_is_charged_before_all_agree_on_the_run(tmp_path):
    federation = Federation(tmp_path, "case14_ieee", 2)
    path = tmp_path / "party-2.toml"
    path.write_text(path.read_text().replace('epsilon = "1"', 'epsilon = "2"'))
    running = {name: federation.start(name) for name in federation.names}
    for name, process in running.items():
        assert process.wait(timeout=60) == 2, name
        assert "agree" in process.stderr.read(), name
    assert not federation.ledger.exists() or not Ledger(federation.ledger).accounts()


def test_costs_of_another_day_are_refused(tmp_path):
    federation = Federation(tmp_path, "case14_ieee", 2)
    part = federation.slices["party-1"]
    federation.slices["party-1"] = part.model_copy(update={"costs_derived": "0" * 64})
    process = federation.start("party-1")
    assert process.wait(timeout=60) == 2
    assert "run.costs_derived is not what the slice has" in process.stderr.read()
