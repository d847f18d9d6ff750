"""Takes over a ledger of version 1, which was one SQLite file with networks known by their buses.

Each network becomes a register, each of its buses with a load an account; charges, caps, distances
and private loads stay what they were. Beside the file stays a copy of what it was before.
"""

import secrets
import sqlite3
from fractions import Fraction

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.source_loads import bus_key
from gridveil.privacy.ledger.balances import EVERY_REGISTER, digest_of_charges, distance_of
from gridveil.privacy.ledger.caps import FIRST_METRICS
from gridveil.privacy.ledger.chain import append, digest_of, json_of, now
from gridveil.privacy.ledger.records import LOAD, Charge
from gridveil.privacy.ledger.schema import ANY, NO_ACCOUNT, VERSION
from gridveil.privacy.ledger.sqlite import SQLiteStore, create_tables
from gridveil.privacy.ledger.store import Row, Transaction, damaged
from gridveil.privacy.metric import Metric

_TABLES = ("networks", "caps", "releases", "private_loads")
_EVERY_BUS = -1
COPY_SUFFIX = ".version-1"
"""What the name of the copy ends with."""


def take_over(store: SQLiteStore) -> None:
    """Bring a file of version 1 to today's tables, in one transaction."""

    def task(transaction: Transaction) -> None:
        if transaction.all("PRAGMA user_version")[0][0] == VERSION:
            return  # another process was faster
        _copy(store)
        old = {name: transaction.all(_ROWS[name]) for name in _TABLES}
        transaction.run("DROP INDEX by_bus")
        for name in reversed(_TABLES):
            transaction.run(f"DROP TABLE {name}")
        create_tables(transaction)
        try:
            _write(transaction, old)
        except (KeyError, ValueError) as error:
            raise damaged(store.place, f"{type(error).__name__} in its tables") from None

    store.work(task)
    store.version = VERSION


_ROWS = {
    "networks": "SELECT id, label, distance FROM networks ORDER BY rowid",
    "caps": "SELECT network, bus, epsilon FROM caps",
    "releases": "SELECT id, network, drawn_at, charge, specification FROM releases ORDER BY rowid",
    "private_loads": "SELECT release, bus, p, q FROM private_loads ORDER BY release, position",
}


def _copy(store: SQLiteStore) -> None:
    copy = store.path.with_name(store.path.name + COPY_SUFFIX)
    try:
        store.copy_file(copy)
    except (OSError, sqlite3.Error) as error:
        raise GridveilError(
            f"{store.place}: a ledger of version 1, which is taken over once a copy of it is "
            f"beside it; {copy} cannot be written: {error}"
        ) from None


def _write(transaction: Transaction, old: dict[str, list[Row]]) -> None:
    identity, at = secrets.token_hex(16), now()
    transaction.run("INSERT INTO ledger VALUES (?, ?, ?)", (identity, VERSION, at))
    append(transaction, "opened", {"ledger": identity, "version": VERSION, "from_version": 1}, at)
    known = {network for network, _, _ in old["networks"]}
    capped = dict.fromkeys(n for n, _, _ in old["caps"] if n and n not in known)
    networks = [*old["networks"], *((n, f"network {n}", None) for n in capped)]
    loads: dict[str, list[tuple[int, int, int]]] = {}
    for release, *values in old["private_loads"]:
        loads.setdefault(release, []).append((values[0], values[1], values[2]))
    numbers: dict[str, set[int]] = {network: set() for network, _, _ in networks}
    for release, network, *_ in old["releases"]:
        numbers[network].update(bus for bus, _, _ in loads.get(release, []))
    for network, bus, _ in old["caps"]:
        if network and bus != _EVERY_BUS:
            numbers[network].add(bus)
    buses, account = {}, 0
    for network, found in numbers.items():
        buses[network] = {bus: account + i for i, bus in enumerate(sorted(found), 1)}
        account += len(found)
    registers = _registers(transaction, networks, buses)
    _caps(transaction, old["caps"], registers, buses)
    _releases(transaction, old, loads, registers, buses)


def _registers(
    transaction: Transaction, networks: list[Row], buses: dict[str, dict[int, int]]
) -> dict[str, int]:
    metric = Metric.ABSOLUTE.value
    numbers, names = {}, set[str]()
    for number, (network, label, distance) in enumerate(networks, 1):
        name, count = label, 1
        while name in names:
            count += 1
            name = f"{label} ({count})"
        names.add(name)
        numbers[network] = number
        transaction.run("INSERT INTO registers VALUES (?, ?, ?, ?, 1)", (number, name, network, ""))
        transaction.run_many(
            "INSERT INTO accounts VALUES (?, ?, ?, ?)",
            ((account, number, LOAD, bus_key(bus)) for bus, account in buses[network].items()),
        )
        if distance is not None:
            transaction.run(
                "INSERT INTO distances VALUES (?, ?, ?, ?)",
                (number, NO_ACCOUNT, metric, distance),
            )
        content = {
            "register": name,
            "network": label,
            "loads": [bus_key(bus) for bus in buses[network]],
            "first_account": min(buses[network].values(), default=0),
        }
        append(transaction, "register", content)
    return numbers


def _caps(
    transaction: Transaction,
    caps: list[Row],
    registers: dict[str, int],
    buses: dict[str, dict[int, int]],
) -> None:
    """Write caps, of networks too that have no release yet."""
    taken = []
    names: dict[int, str] = dict(transaction.all("SELECT id, name FROM registers"))
    for network, bus, epsilon in caps:
        register = registers.get(network, EVERY_REGISTER)
        account = NO_ACCOUNT if bus == _EVERY_BUS else buses[network][bus]
        transaction.run_many(
            "INSERT INTO caps VALUES (?, ?, ?, ?)",
            ((register, account, metric.value, epsilon) for metric in FIRST_METRICS),
        )
        taken.append((names.get(register), None if bus == _EVERY_BUS else bus_key(bus), epsilon))
    distances = transaction.all("SELECT register, distance FROM distances ORDER BY register")
    content = {"caps": taken, "distances": [(names[r], distance) for r, distance in distances]}
    append(transaction, "caps taken over", content)


def _releases(
    transaction: Transaction,
    old: dict[str, list[Row]],
    loads: dict[str, list[tuple[int, int, int]]],
    registers: dict[str, int],
    buses: dict[str, dict[int, int]],
) -> None:
    metric = Metric.ABSOLUTE.value
    distances = {network: distance or ANY for network, _, distance in old["networks"]}
    sums: dict[int, tuple[str, Fraction, int]] = {}
    names_of: dict[int, str] = dict(transaction.all("SELECT id, name FROM registers"))
    for order, (release, network, drawn_at, charge, specification) in enumerate(old["releases"]):
        own, at = loads.get(release, []), distances[network]
        accounts = [buses[network][bus] for bus, _, _ in own]
        names = json_of([[bus_key(bus)] for bus, _, _ in own])
        steps = np.array([load[1:] for load in own], dtype=">i8").tobytes()
        for account in accounts:
            _, total, count = sums.get(account, (at, Fraction(0), 0))
            sums[account] = at, total + Fraction(charge), count + 1
        spent = Charge(Fraction(charge), distance_of(at))
        cumulative = max((sums[account][1] for account in accounts), default=Fraction(0))
        event = append(
            transaction,
            "release taken over",
            {
                "release": release,
                "charge": charge,
                "distance": at,
                "specification": digest_of([specification]),
                "loads": names,
                "private_loads": digest_of([steps.hex()]),
                "charges": digest_of_charges((a, spent) for a in accounts),
                "first_hour": None,
                "losses": None,
                "register": names_of[registers[network]],
                "cost": charge,
                "spent": str(cumulative),
                "counted_at": at,
                "elsewhere": json_of({}),
                "first": int(not order),
            },
            drawn_at,
        )
        transaction.run(
            "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                release, event.row, registers[network], specification, names, steps, None, None,
                charge, str(cumulative), at, json_of({}), int(not order),
            ),
        )  # fmt: skip
        transaction.run_many(
            "INSERT INTO charges VALUES (?, ?, ?, ?, ?)",
            ((account, event.row, metric, at, charge) for account in accounts),
        )
    transaction.run_many(
        "INSERT INTO sums VALUES (?, ?, ?, ?, ?)",
        ((account, metric, at, str(spent), count) for account, (at, spent, count) in sums.items()),
    )
