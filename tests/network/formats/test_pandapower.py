"""pandapower's files: JSON and workbooks, sound and broken."""

import json
import sys
import zipfile

import numpy as np
import pytest

from gridveil import CaseError, GridveilError, load_case, save_case, solve_acopf
from gridveil.network.formats.pandapower import PandapowerFormat
from gridveil.network.formats.pandapower_reader import network_from_net

pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")

from tests.network.formats.pandapower_nets import everything, feeder  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
SECRET = 94.205


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the text of a net's JSON file and the bytes of its workbook."""
    folder = tmp_path_factory.mktemp("files")
    net = feeder([SECRET, 7.5])
    pandapower.to_json(net, str(folder / "net.json"))
    pandapower.to_excel(net, str(folder / "net.xlsx"))
    return (folder / "net.json").read_text(), (folder / "net.xlsx").read_bytes()


@pytest.mark.parametrize("suffix", [".json", ".xlsx"])
def test_a_file_is_read_as_its_net_and_written_back(suffix, tmp_path):
    net, source, copy = everything(), tmp_path / f"net{suffix}", tmp_path / f"copy{suffix}"
    pandapower.runpp(net)
    (pandapower.to_json if suffix == ".json" else pandapower.to_excel)(net, str(source))
    in_memory, network = network_from_net(net, "everything"), load_case(source)
    assert network.name == "everything"
    assert network.loads.values == pytest.approx(in_memory.loads.values, rel=1e-14)  # 15 digits
    assert network.load_identities == in_memory.load_identities
    assert network.lines.y == pytest.approx(in_memory.lines.y)
    assert network.conversion_notes == in_memory.conversion_notes
    released = network.with_loads(0.9 * network.loads.p, 1.1 * network.loads.q)
    told = PandapowerFormat().write_back(released, source, copy)
    assert any("motor 0" in sentence for sentence in told)
    again = load_case(copy)
    at = {one.key: p for one, p in zip(again.load_identities, again.loads.p, strict=True)}
    for one, p in zip(released.load_identities, released.loads.p, strict=True):
        if not one.key.startswith(("motor", "dcline")):  # these stand as loads
            assert at[one.key] == pytest.approx(p, rel=1e-13)
    idle = dict(zip(again.idle_loads.identities, again.idle_loads.values.tolist(), strict=True))
    (mill,) = (one for one in idle if one.key == "load 5")
    assert (mill.name, idle[mill]) == ("the mill", [0.0, 0.0])


@pytest.mark.parametrize("suffix", [".json", ".xlsx"])
def test_a_network_is_saved_and_read_again(suffix, tmp_path):
    network = load_case("case14_ieee")
    save_case(network, tmp_path / f"case{suffix}")
    again = load_case(tmp_path / f"case{suffix}")
    assert again.name == network.name
    assert again.load_buses == network.load_buses
    assert again.loads.values == pytest.approx(network.loads.values, rel=1e-13)
    assert sorted(again.lines.rate) == pytest.approx(sorted(network.lines.rate))
    assert solve_acopf(again).cost == pytest.approx(solve_acopf(network).cost, rel=1e-2)
    declared = load_case(tmp_path / f"case{suffix}", load_buses=range(1, 15))
    assert len(declared.loads) == 14


def test_public_injections_of_a_file_are_named_by_kind(tmp_path):
    path = tmp_path / "net.json"
    pandapower.to_json(everything(), str(path))
    some = load_case(path, public_injections=["sgen", "ward"])
    assert len(some.loads) == len(load_case(path).loads) - 4
    with pytest.raises(GridveilError, match="'motors' is none of sgen, storage, ward, dcline"):
        load_case(path, public_injections=["motors"])
    with pytest.raises(
        GridveilError, match=r"public injections \(sgen\): matpower files have none"
    ):
        load_case("case14_ieee", public_injections=["sgen"])


def with_table(text, name, change):
    """Return the JSON of a net with one of its tables changed."""
    file = json.loads(text)
    table = json.loads(file["_object"][name]["_object"])
    change(table)
    file["_object"][name]["_object"] = json.dumps(table)
    return json.dumps(file)


def drop_column(table, column):
    at = table["columns"].index(column)
    for row in (table["columns"], *table["data"]):
        del row[at]


def set_cell(table, column, value):
    table["data"][0][table["columns"].index(column)] = value


def controlled(text):
    file = json.loads(text)
    file["_object"]["extra"] = {"_module": "no.such_module", "_class": "Thing", "_object": "{}"}
    return json.dumps(file)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda text: "", "net.json:1: column 1: this is not JSON"),
        (lambda text: text[: len(text) // 2], "column"),
        (lambda text: "bus,load\n1,2\n", "net.json:1: column 1: this is not JSON"),
        (lambda text: '{"bus": [1, 2, 3]}', "not a network saved by pandapower.to_json"),
        (lambda text: '{"_class": "pandapowerNet"}', "the network has no tables"),
        (lambda text: text.replace('{\\"columns', "{columns", 1), "table 'bus': not JSON from"),
        (
            lambda text: with_table(text, "load", lambda t: t["data"][0].pop()),
            "table 'load', index 0:",
        ),
        (
            lambda text: with_table(text, "load", lambda t: t["index"].append(9)),
            "table 'load': 3 indices for 2 rows",
        ),
        (lambda text: with_table(text, "load", dict.clear), "table 'load': columns, index and"),
        (
            lambda text: with_table(text, "load", lambda t: drop_column(t, "p_mw")),
            "net.load has no column 'p_mw'",
        ),
        (
            lambda text: with_table(text, "load", lambda t: set_cell(t, "bus", 77)),
            "load 0: bus 77 is not in net.bus",
        ),
        (
            lambda text: with_table(text, "load", lambda t: set_cell(t, "p_mw", f"{SECRET} MW")),
            "",
        ),
        (
            lambda text: with_table(text, "line", lambda t: set_cell(t, "length_km", None)),
            "line 0: length_km is missing",
        ),
        (controlled, "pandapower cannot read this file"),
    ],
)
def test_a_broken_json_file_is_told_with_its_place(broken, message, files, tmp_path):
    path = tmp_path / "net.json"
    path.write_text(broken(files[0]))
    with pytest.raises(GridveilError) as failure:
        PandapowerFormat().read(path)
    told = str(failure.value)
    assert told.startswith(f"{path}")
    assert message in told
    assert "94.2" not in told
    assert failure.value.__cause__ is None


def test_bytes_that_are_no_text_are_told_with_their_place(files, tmp_path):
    path = tmp_path / "net.json"
    path.write_bytes(files[0].encode() + b"\xff")
    with pytest.raises(GridveilError, match=rf"net\.json: byte {len(files[0])} is not UTF-8"):
        load_case(path)


def rewritten(data, path, change):
    """Write a workbook with one of its sheets changed."""
    openpyxl = pytest.importorskip("openpyxl")
    path.write_bytes(data)
    book = openpyxl.load_workbook(path)
    change(book)
    book.save(path)


def header(sheet, column):
    return next(cell for cell in sheet[1] if cell.value == column)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda book: book.remove(book["bus"]), "no sheets 'bus' and 'parameters'"),
        (
            lambda book: book["load"].delete_cols(header(book["load"], "p_mw").column),
            "net.load has no column 'p_mw'",
        ),
        (
            lambda book: book["load"].cell(2, header(book["load"], "p_mw").column, "94,205"),
            "",
        ),
        (
            lambda book: book["line"].cell(2, header(book["line"], "to_bus").column, 77),
            "line 0: to_bus 77 is not in net.bus",
        ),
    ],
)
def test_a_broken_workbook_is_told_with_its_place(change, message, files, tmp_path):
    path = tmp_path / "net.xlsx"
    rewritten(files[1], path, change)
    with pytest.raises(GridveilError) as failure:
        PandapowerFormat().read(path)
    assert str(failure.value).startswith(str(path))
    assert message in str(failure.value)
    assert "94" not in str(failure.value)


def test_what_is_no_workbook_is_told(files, tmp_path):
    path = tmp_path / "net.xlsx"
    for data in (b"", b"bus;load\n", files[1][: len(files[1]) // 2]):
        path.write_bytes(data)
        with pytest.raises(GridveilError, match=r"net\.xlsx: this is not an Excel workbook"):
            load_case(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("profile.xml", "<x/>")
    with pytest.raises(GridveilError, match="no sheets 'bus' and 'parameters'"):
        PandapowerFormat().read(path)


def test_problems_of_a_file_are_all_found_at_once(files, tmp_path):
    def change(table):
        set_cell(table, "bus", 77)
        drop_column(table, "name")

    path = tmp_path / "net.json"
    text = with_table(files[0], "load", change)
    path.write_text(with_table(text, "line", lambda t: set_cell(t, "length_km", None)))
    with pytest.raises(CaseError) as failure:
        load_case(path)
    assert len(failure.value.problems) == 2


def test_a_missing_extra_is_told_with_the_command(files, tmp_path, monkeypatch):
    path = tmp_path / "net.xlsx"
    path.write_bytes(files[1])
    for module in ("openpyxl", "pandapower"):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(GridveilError, match=r"pip install 'gridveil\[pandapower\]'"):
            load_case(path)
    with pytest.raises(GridveilError, match=r"pip install 'gridveil\[pandapower\]'"):
        save_case(load_case("case3_lmbd"), tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


def test_results_and_true_loads_are_not_in_the_copy(tmp_path):
    net = feeder([SECRET, 61.75])
    pandapower.create_load(net, 3, 38.625, in_service=False)
    pandapower.create_measurement(net, "p", "bus", SECRET, 0.01, 1)
    pandapower.runpp(net)
    source, copy = tmp_path / "net.json", tmp_path / "copy.json"
    pandapower.to_json(net, str(source))
    assert "94.20" in source.read_text()
    network = load_case(source)
    released = network.with_loads(np.full(2, 0.5), np.zeros(2))
    told = PandapowerFormat().write_back(released, source, copy)
    assert not any(text in copy.read_text() for text in ("94.2", "61.75", "38.6"))
    assert any("measurement" in sentence for sentence in told)
    assert any("load 2: out of service" in sentence for sentence in told)
