"""A release of a network with several loads at a bus: each has its noise, its account, its row."""

import csv
import hashlib
import io
import json
import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from gridveil import (
    Ledger,
    PolarLaplace,
    export_release,
    load_case,
    plan_release,
    read_bounds,
    read_ratings,
    release,
    verify,
)
from gridveil.claims import ClaimVerdict
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.publication.certificate import Certificate
from gridveil.publication.report.private_page import private_page
from gridveil.publication.scan.secret_numbers import raw_secrets_of, secrets_of
from tests.cases import TINY, bus, line
from tests.network.test_source_loads import LOADS, network_of

MECHANISM = PolarLaplace.of(1, "0.05")
CHOICES = {"mechanism": MECHANISM, "beta": 0.05}


@pytest.fixture
def ledger(tmp_path):
    with_books = Ledger(tmp_path / "ledger.sqlite")
    yield with_books
    with_books.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with the idle loads, and its folder."""
    folder = tmp_path_factory.mktemp("several")
    found = release(network_of(), folder / "ledger.sqlite", idle_loads="release", **CHOICES)
    found.save(folder / "out")
    return found, folder / "out"


def rows_of(made):
    return list(csv.DictReader(io.StringIO(made.files["loads.csv"].decode())))


def places(made):
    return [
        tuple(int(row[name]) for name in ("bus", "number", "in_service")) for row in rows_of(made)
    ]


def broken(folder):
    return [one.name for one in verify(folder).claims if not one.ok]


def test_every_load_has_its_row_and_the_network_has_the_sums(made):
    found, _ = made
    assert places(found)[:4] == [(2, 1, 1), (2, 2, 1), (7, 1, 1), (7, 2, 1)]
    at: dict[int, list[float]] = defaultdict(list)
    for row in rows_of(found):
        if row["in_service"] == "1":
            at[int(row["bus"])].append(float(row["p_mw"]))
    table = found.published.network.case.tables["bus"]
    numbers, p = table.column("bus_i").tolist(), table.column("Pd").tolist()
    wanted = {number: math.fsum(at.get(int(number), [0.0])) for number in numbers}
    assert dict(zip(numbers, p, strict=True)) == wanted
    assert found.certificate.load_buses == [2, 2, 7, 7]
    assert found.certificate.protection.loads == 6


def test_it_verifies(made):
    _, folder = made
    result = verify(folder)
    assert result.ok, [one for one in result.claims if not one.ok]
    loads = next(one for one in result.claims if one.name == "loads.csv")
    assert loads.verdict is ClaimVerdict.RECOMPUTED


def test_the_noise_of_each_load_is_its_own(made):
    found, _ = made
    listed = replace(network_of(), lists_idle_loads=True).listed_loads
    noise = np.stack([found.noisy.p, found.noisy.q], axis=1) - listed.values
    assert noise.shape == (6, 2)
    assert len(np.unique(noise.round(9))) == 12


def test_idle_loads_are_released_as_drawn_and_in_the_table_alone(made):
    found, _ = made
    assert places(found)[4:] == [(2, 3, 0), (9, 1, 0)]
    drawn = np.stack([found.noisy.p, found.noisy.q], axis=1)[4:] * 100
    released = [[float(row["p_mw"]), float(row["q_mvar"])] for row in rows_of(found)[4:]]
    assert released == pytest.approx(drawn, rel=1e-12)
    table = found.published.network.case.tables["bus"]
    assert table.column("Pd")[table.column("bus_i") == 9].tolist() == [0.0]


@pytest.mark.parametrize("choice", ["leave-out", "release"])
def test_idle_loads_are_raw_nowhere(tmp_path, ledger, choice):
    """9.25, 1.5, 3.125 and 0.5 MW are the two of them; no byte depends on them but their noise."""
    secrets = raw_secrets_of(network_of())
    assert {"P of bus 2, load 3", "Q of bus 9"} <= set(secrets.names)
    found = release(network_of(), ledger, release_id="one", idle_loads=choice, **CHOICES)
    loads = [
        load if load.key not in ("load 2", "load 5") else replace(load, p_mw=71.7, q_mvar=17.1)
        for load in LOADS
    ]
    again = release(network_of(loads), ledger, release_id="one", idle_loads=choice, **CHOICES)
    assert again.files == found.files
    keys = {account.key: float(account.spent) for account in ledger.accounts()}
    spent = 1.0 if choice == "release" else 0.0
    assert keys == {**{f"load {i}": 1.0 for i in (0, 1, 3, 4)}, "load 2": spent, "load 5": spent}
    assert len(rows_of(found)) == 4 + 2 * int(spent)


def test_the_plan_says_which_loads_are_out_of_service(ledger):
    left = plan_release(network_of(), ledger=ledger, **CHOICES)
    assert "loads out of service (2), left out" in repr(left)
    assert "bus 2, load 3, bus 9" in repr(left)
    both = plan_release(network_of(), ledger=ledger, idle_loads="release", **CHOICES)
    assert "each of 6 loads would be charged" in repr(both)
    assert both.figures()["idle_loads"] == [[2, 3], [9, 1]]
    assert both.release_id != left.release_id
    with pytest.raises(
        GridveilError, match=r"--idle-loads .*: 'all' is none of leave-out, release"
    ):
        plan_release(network_of(), ledger=ledger, idle_loads="all", **CHOICES)


def test_a_load_shifted_to_its_neighbour_at_the_bus_is_found(made, tmp_path):
    """The sums stay what they are: only the page, made again, tells."""
    found, _ = made
    resealed(found, tmp_path / "out", lambda p: [p[0] + 1, p[1] - 1, *p[2:]])
    assert broken(tmp_path / "out") == ["report.html"]


def test_sums_that_are_not_those_of_the_loads_are_found(made, tmp_path):
    found, _ = made
    resealed(found, tmp_path / "out", lambda p: [p[0] + 1, *p[1:]])
    assert "loads.csv" in broken(tmp_path / "out")


def resealed(found, folder, change):
    """Write a release with other loads in its table, and with digests that fit."""
    head, *lines = found.files["loads.csv"].decode().splitlines()
    cells = [line.split(",") for line in lines]
    for row, p in zip(cells, change([float(row[2]) for row in cells]), strict=True):
        row[2] = repr(p)
    data = "".join(f"{line}\n" for line in (head, *map(",".join, cells))).encode()
    content = json.loads(found.files["certificate.json"])
    content["files"]["loads.csv"] = hashlib.sha256(data).hexdigest()
    certificate = Certificate.model_validate(content).sealed()
    files = {**found.files, "loads.csv": data, "certificate.json": certificate.to_bytes()}
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_bytes(text)


@pytest.mark.parametrize(
    ("buses", "idle"), [([2, 2, 7], []), ([2, 7, 7, 7], []), ([2, 2, 7, 7], [2]), ([2, 7], [])]
)
def test_another_number_of_loads_at_a_bus_is_found(made, tmp_path, buses, idle):
    found, _ = made
    resealed(found, tmp_path / "out", lambda p: p)
    path = tmp_path / "out" / "certificate.json"
    content = {**json.loads(path.read_text()), "load_buses": buses, "idle_load_buses": idle}
    path.write_bytes(Certificate.model_validate(content).sealed().to_bytes())
    assert "loads.csv" in broken(tmp_path / "out")


def test_the_scan_knows_single_loads_sums_at_buses_and_their_noise():
    network = network_of()
    noise = np.array([[0.011, 0.002], [0.023, 0.003], [0.037, 0.004], [0.041, 0.005]])
    noisy = network.loads.values + noise
    secrets = secrets_of(network, noisy, noisy, None)

    def named(value):
        return secrets.nearest(value, 1e-9)

    assert named(50.0) == "P of bus 2, load 1"
    assert named(80.0) == "P of bus 2"
    assert named(2.3) == "noise of P at bus 2, load 2"
    assert named(3.4) == "noise of P at bus 2"


def test_files_of_ratings_and_bounds_name_loads_by_bus_and_number(tmp_path):
    path, network = tmp_path / "loads.csv", network_of()
    path.write_text("bus,number,rating_mva\n7,2,40\n2,1,100\n7,1,50\n2,2,60\n")
    assert [float(one) for one in read_ratings(path, network, "a map").mva] == [100, 60, 50, 40]
    path.write_text(
        "bus,number,p_min,p_max,q_min,q_max\n"
        + "".join(f"{b},{n},0,{10 * b + n},0,9\n" for b in (2, 7) for n in (1, 2))
    )
    assert (read_bounds(path, network).upper[:, 0] * 100).tolist() == pytest.approx(
        [21, 22, 71, 72]
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bus,rating_mva\n2,100\n", r":2: bus 2 has several loads; say which in a column number"),
        ("bus,number,rating_mva\n2,1,1\n2,1,1\n", r":3: load 1 of bus 2 is there twice"),
        ("bus,number,rating_mva\n2,4,1\n", r":2: bus 2 has no load 4"),
        ("bus,number,rating_mva\n2,1,1\n", r"no rating for bus 2, load 2 and 2 other loads"),
        ("bus,number,rating_mva\n2,x,1\n", r":2: number: a whole number expected"),
    ],
)
def test_mistakes_in_such_files_are_told_with_their_place(tmp_path, text, says):
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    with pytest.raises(GridveilError, match=says):
        read_ratings(path, network_of(), "a map")


def test_one_of_several_loads_at_a_bus_can_be_a_consumer(tmp_path, ledger):
    path = tmp_path / "consumers.csv"
    path.write_text("bus,number\n2,2\n7\n")
    found = release(network_of(), ledger, consumers=path, **CHOICES)
    stated = found.certificate.post_processing
    assert stated.consumers == [(2, 2), 7]
    assert "3 of 4 loads" in stated.sentences[0]
    found.save(tmp_path / "out")
    assert broken(tmp_path / "out") == []


def test_ratings_of_loads_in_service_and_idle_ones_are_used_in_their_order(tmp_path, ledger):
    path = tmp_path / "ratings.csv"
    rows = [(2, 1, 100), (2, 2, 60), (2, 3, 20), (7, 1, 50), (7, 2, 40), (9, 1, 10)]
    path.write_text("bus,number,rating_mva\n" + "".join(f"{b},{n},{mva}\n" for b, n, mva in rows))
    choices = {"hide": "10%rating", "ratings": path, "ratings_source": "a map", "beta": 0.05}
    found = release(network_of(), ledger, idle_loads="release", correct_bias=False, **choices)
    of = json.loads(found.certificate.protection.parameters["ratings"])
    assert list(map(float, of)) == [100, 60, 50, 40, 20, 10]
    found.save(tmp_path / "out")
    assert broken(tmp_path / "out") == []


def test_the_private_report_names_each_load(made):
    found, _ = made
    network = replace(network_of(), lists_idle_loads=True)
    page = private_page(network, found.noisy, found.published.network, found.certificate).decode()
    for text in ("2, load 1", "2, load 3", "7, load 2"):
        assert text in page


CASE = TINY.with_(bus=[*TINY.bus, bus(9, 4, 33.75, 12.25)], branch=[*TINY.branch, line(7, 9)])


@pytest.mark.parametrize("choice", ["leave-out", "release"])
def test_a_release_goes_back_into_its_case_file(tmp_path, ledger, choice):
    source = tmp_path / "tiny.m"
    source.write_text("% owned by the bakery\n" + CASE.text().replace("\t1.1", "\t1.10"))
    found = release(source, ledger, idle_loads=choice, **CHOICES)
    found.save(tmp_path / "out")
    told = export_release(tmp_path / "out", source, tmp_path / "back.m")
    assert "comments" in told[0]
    back = load_case(tmp_path / "back.m")
    rows = {int(row["bus"]): float(row["p_mw"]) for row in rows_of(found)}
    table = back.case.tables["bus"]
    column = dict(zip(table.column("bus_i").tolist(), table.column("Pd").tolist(), strict=True))
    assert column == {1: 0.0, 9: 0.0, **rows}
    text = (tmp_path / "back.m").read_text()
    assert "33.75" not in text
    assert "owned by the bakery" in text
    assert text.count("1.10") == 4
    with pytest.raises(GridveilError, match="exists and is not overwritten"):
        export_release(tmp_path / "out", source, tmp_path / "back.m")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (CASE.with_(base_mva=10.0), "base"),
        (CASE.with_(bus=[*CASE.bus, bus(11, 4)]), "bus 11 is not the same"),
        (CASE.with_(branch=CASE.branch[1:]), "other lines in service"),
        (CASE.with_cell("bus", 0, 2, 5.0), "bus 1 has a load but is not on the list"),
    ],
)
def test_another_network_is_no_source(tmp_path, ledger, other, says):
    source = tmp_path / "tiny.m"
    source.write_text(CASE.text())
    release(source, ledger, **CHOICES).save(tmp_path / "out")
    source.write_text(other.text())
    with pytest.raises(GridveilError, match=says):
        export_release(tmp_path / "out", source, tmp_path / "back.m")
    assert not (tmp_path / "back.m").exists()


def test_a_folder_that_was_changed_is_not_exported(tmp_path, ledger):
    source = tmp_path / "tiny.m"
    source.write_text(CASE.text())
    release(source, ledger, **CHOICES).save(tmp_path / "out")
    with (tmp_path / "out" / "loads.csv").open("a") as file:
        file.write("7,2,1.0,1.0,1\n")
    with pytest.raises(GridveilError, match=r"not as certified \(digest of loads.csv\)"):
        export_release(tmp_path / "out", source, tmp_path / "back.m")


def test_a_network_whose_loads_have_a_bus_each_says_nothing_of_numbers():
    network: Network = TINY.network()
    assert network.listed_loads.labels == ["bus 2", "bus 7"]
