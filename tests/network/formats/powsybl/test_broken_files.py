"""Broken files of the formats that PowSyBl reads: a message with file and place, and no load."""

import io
import re
import zipfile

import pytest

from benchmarks.powsybl_networks import own
from benchmarks.small_files import IEEE_CDF, UCTE
from gridveil import CaseError, GridveilError, load_case

pytest.importorskip("pypowsybl", reason="pypowsybl is an extra")
SHOWN = ("94.2", "47.8", "29.5", "310.5", "90.25", "41.7", "23.9")
"""Loads of the files; no message shows one."""


@pytest.fixture(scope="module")
def raw():
    return _saved(".raw", "PSS/E").decode()


@pytest.fixture(scope="module")
def xiidm():
    return own("ieee14").save_to_string("XIIDM")


@pytest.fixture(scope="module")
def profiles():
    with zipfile.ZipFile(io.BytesIO(_saved(".zip", "CGMES"))) as archive:
        return {name[-6:]: archive.read(name).decode() for name in archive.namelist()}


def _saved(suffix, kind):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"case{suffix}"
        own("ieee14").save(str(path), format=kind)
        return path.read_bytes()


def message_of(path):
    with pytest.raises(GridveilError) as caught:
        load_case(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert not any(value in message for value in SHOWN)
    assert caught.value.__cause__ is None, "nothing of what saw the loads is passed on"
    return message


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0,100.0,35", "0,100.0,29", ":1: version 29"),
        ("0,100.0,35", "Dear,colleague", ":1: the first line"),
        ("0,100.0,35", "0,-5,35", ":1: SBASE"),
        ("'01',1,1,1,94.2", "'01',1,1,1,ninety", ":{}: bus 3 load 01: p is not a finite number"),
        ("'01',1,1,1,94.2", "'01',1,1,1,nan", ":{}: bus 3 load 01: p is not a finite number"),
        ("3,'01',1,1,1,94.2", "303,'01',1,1,1,94.2", ":{}: load data: there is no bus 303"),
        ("1,5,'01',0.054", "1,555,'01',0.054", ":{}: branch data: there is no bus 555"),
        ("1,5,'01',0.05402", "1,5,'01',0.0o402", ":{}: branch data: field 4 is not a number"),
        ("3,'VL3_0',135.0", "3,'VL3_0',x135.0", ":{}: bus data: field 3 is not a number"),
        ("BEGIN GNE DATA", "BEGIN GNE DATA\n'G',1,2", ":{}: GNE device 'G' is not supported"),
    ],
)
def test_raw_files(raw, old, new, said, tmp_path):
    path, old = tmp_path / "case.raw", old if old in raw else old.replace("0.054", "0.0540")
    if old not in raw:
        old, new = old.replace("BEGIN GNE", "BEGIN GNE DEVICE"), new
    assert old in raw, "the sample has what is to be broken"
    text = raw.replace(old, new, 1)
    path.write_text(text)
    at = line_of(text, new.split("\n")[-1])
    assert said.format(at) in message_of(path)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.45])
def test_raw_files_that_are_cut_off(raw, share, tmp_path):
    path = tmp_path / "case.raw"
    path.write_text(raw[: int(share * len(raw))])
    message = message_of(path)
    assert "cut off" in message or "is not a number" in message or "finite" in message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t[: len(t) // 2], "PowSyBl cannot read it"),
        (lambda t: t.replace("schema/iidm/1_", "schema/iidm/9_"), "PowSyBl cannot read it"),
        (lambda t: t.replace('bus="B4"', 'bus="B44"'), "PowSyBl cannot read it"),
        (lambda t: t.replace('p0="94.2"', 'p0="ninety"'), "load B3-L: p is not a finite number"),
        (lambda t: t.replace('q0="19.0"', 'q0="NaN"'), "load B3-L: q is not a finite number"),
        (lambda t: t.replace('nominalV="12.0"', 'nominalV="high"'), "PowSyBl cannot read it"),
        (
            lambda t: re.sub(r"<iidm:(generator|extension) .*?</iidm:\1>", "", t, flags=re.S),
            "it has no generator in service",
        ),
    ],
)
def test_xiidm_files(xiidm, change, said, tmp_path):
    path = tmp_path / "case.xiidm"
    path.write_text(change(xiidm))
    assert said in message_of(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p.pop("SH.xml"), "no SSH profile among its 3 XML files"),
        (lambda p: p.pop("EQ.xml"), "no EQ profile"),
        (lambda p: p.clear(), "no EQ profile: it holds no XML file"),
        (lambda p: p.update({"SH.xml": p["SH.xml"][:-900]}), "SH.xml: this is not complete XML"),
        (lambda p: p.update({"SH.xml": p["SH.xml"].replace(".p>94.2<", ".p>ninety<")}),
         "B3-L: p is not a finite number"),
        (lambda p: p.update({"EQ.xml": re.sub(r"<cim:BaseVoltage .*?</cim:BaseVoltage>", "",
                                              p["EQ.xml"], flags=re.S)}), "PowSyBl cannot read it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [True, False])
def test_cgmes_models(profiles, change, said, packed, tmp_path):
    parts = {name.replace("SSH", "SH").replace("_", ""): text for name, text in profiles.items()}
    change(parts)
    path = tmp_path / ("case.zip" if packed else "model")
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in parts.items():
                archive.writestr(name, text)
    else:
        path.mkdir()
        for name, text in parts.items():
            (path / name).write_text(text)
        if not parts:
            said = "is a folder, not a case file"
    assert said in message_of(path)


def test_archives_that_are_none(tmp_path):
    path = tmp_path / "case.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(200))
    assert "this is not a zip archive" in message_of(path)
    path.write_bytes(b"")
    assert "case.zip" in message_of(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t[: t.index("##L")], "it has no block ##L"),
        (lambda t: t.replace(" 310.5", " three"), ":6: BBE2AA1: p is not a finite number"),
        (lambda t: t.replace("BBE2AA1  BBE3AA1  1 0", "BBE2AA1  BBE9AA1  1 0"), "case.uct"),
        (lambda t: t[: t.index("##ZBE")] + t[t.index("##L") :], "case.uct"),
    ],
)
def test_ucte_files(change, said, tmp_path):
    path = tmp_path / "case.uct"
    path.write_text(change(UCTE))
    assert said in message_of(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("BRANCH DATA", "BRUNCH DATA"), "no line 'BRANCH DATA FOLLOWS'"),
        (lambda t: t.replace("100.0", "a lot", 1), ":1: columns 32 to 37"),
        (lambda t: t.replace("41.7", "nan ", 1), ":4: 12: p is not a finite number"),
        (lambda t: t.replace("  12   13", "  12   99"), "case.ieee"),
        (lambda t: t[: t.index("BRANCH")].replace("-999", "") + "BRANCH DATA FOLLOWS\n", "cut off"),
    ],
)
def test_ieee_cdf_files(change, said, tmp_path):
    path = tmp_path / "case.ieee"
    path.write_text(change(IEEE_CDF))
    assert said in message_of(path)


@pytest.mark.parametrize("suffix", [".raw", ".xiidm", ".uct", ".zip", ".xml"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0\1\2" * 50, b"Dear colleague,\n"])
def test_files_of_something_else(suffix, content, tmp_path):
    path = tmp_path / f"case{suffix}"
    path.write_bytes(content)
    with pytest.raises(CaseError):
        load_case(path)
