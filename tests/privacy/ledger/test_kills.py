"""200 kills, half on each backend, of eight processes that release at once, as from two hosts."""

import os
import random
import signal
import time

from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import BudgetExceededError
from tests.privacy.ledger.owners import BUSES, draw, owner, spending

RELEASES, KILLS, PROCESSES = 1000, 100, 8
ALLOWED = 300
"""Releases until the cap is reached."""
EPSILON = f"1/{ALLOWED}"


def places(place, request):
    """Return the addresses under which two hosts know a ledger."""
    if not str(place).startswith("postgresql"):
        return [place, place]
    server = request.getfixturevalue("server")
    name = str(place).rsplit("/", 1)[1]
    role = server.new_role("spender")
    Ledger(place).grant(role, may_spend=True)
    return [server.address(name, role), server.local_address(name, role)]


def work(place, seed, told):
    """Make releases under random ids, some of them the same as another process's, until killed."""
    choose = random.Random(seed)
    while True:
        ledger = Ledger(place)
        release = f"r{choose.randrange(RELEASES)}"
        try:
            values = ledger.spend(release, spending(epsilon=EPSILON), draw)
            os.write(told, f"{release} {values[:, 0].tolist()}\n".encode())
        except BudgetExceededError:
            pass
        ledger.close()


def start(place, seed, told):
    child = os.fork()
    if child == 0:
        try:
            work(place, seed, told)
        finally:
            os._exit(1)
    return child


def test_kills_and_processes_never_overspend_lose_or_double(place, request, tmp_path):
    opened = Ledger(place)
    opened.open_register(owner())
    opened.set_cap(1)
    hosts = places(place, request)
    opened.close()
    output = tmp_path / "told.txt"
    writer = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    chance = random.Random(1)
    children = [start(hosts[seed % 2], seed, writer) for seed in range(PROCESSES)]
    for kill in range(KILLS):
        time.sleep(chance.random() * 0.03)
        victim = chance.randrange(PROCESSES)
        os.kill(children[victim], signal.SIGKILL)
        _, status = os.waitpid(children[victim], 0)
        assert os.WIFSIGNALED(status), "a process ended by itself: it failed"
        children[victim] = start(hosts[victim % 2], 1000 + kill, writer)
    finish(place, writer)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(writer)

    told: dict[str, set[str]] = {}
    for line in output.read_text().splitlines():
        release, values = line.split(" ", 1)
        told.setdefault(release, set()).add(values)
    assert all(len(values) == 1 for values in told.values()), "a release was drawn twice"
    ledger = Ledger(place)
    assert ledger.inspect().problems == ()
    for release, values in told.items():
        stored = ledger.spend(release, spending(epsilon=EPSILON), lambda: "drawn a second time")
        assert values == {str(stored[:, 0].tolist())}, "lost"
    assert ledger.inspect().releases == ALLOWED, "the budget was spent to its end and not beyond"
    assert [account.spent for account in ledger.accounts()] == [1] * len(BUSES)
    assert {account.releases for account in ledger.accounts()} == {ALLOWED}


def finish(place, told):
    """Make releases until the budget is spent, however slow the machine is."""
    ledger = Ledger(place)
    for i in range(RELEASES):
        try:
            values = ledger.spend(f"r{i}", spending(epsilon=EPSILON), draw)
        except BudgetExceededError:
            break
        os.write(told, f"r{i} {values[:, 0].tolist()}\n".encode())
    ledger.close()
