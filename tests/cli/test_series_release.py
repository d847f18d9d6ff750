"""`gridveil release --series` and `gridveil verify`, from made-up profiles to a checked folder."""

import json

import pytest
from typer.testing import CliRunner

from gridveil.cli.app import app
from gridveil.errors import GridveilError
from gridveil.opf.interior_point.cuda.availability import why_no_gpu


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with profiles of six hours and their ratings."""
    path = tmp_path_factory.mktemp("series")
    invoke(path, "profiles", "case5_pjm", "--hours", "6", "-o", path / "loads.parquet")
    return path


def invoke(folder, *arguments):
    environment = {"GRIDVEIL_LEDGER": str(folder / "ledger.sqlite")}
    result = CliRunner().invoke(app, [str(one) for one in arguments], env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def release(folder, *arguments):
    return invoke(
        folder, "release", "case5_pjm", "--series", folder / "loads.parquet", "--hide", "1MVA",
        "--epsilon", "2", "--workers", "1", "--accept-useless", *arguments,
    )  # fmt: skip


def test_from_profiles_to_a_verified_folder(folder):
    plan = release(folder, "--dry-run")
    assert "nothing is drawn, nothing is spent" in " ".join(plan.output.split())
    assert not (folder / "ledger.sqlite").exists()
    made = release(folder, "-o", folder / "out", "--csv", "--plain")
    assert made.exit_code == 0, made.output
    assert "6 of 6 hours from 2025-01-06T00:00Z" in made.output
    assert (folder / "out" / "loads.csv").exists()
    assert not list(folder.glob(".out*"))
    checked = invoke(folder, "verify", folder / "out", "--full", "--json")
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.output)["private_as_a_whole"]
    again = release(folder, "-o", folder / "again", "--csv", "--quiet")
    assert again.output == ""
    for path in (folder / "out").iterdir():
        assert path.read_bytes() == (folder / "again" / path.name).read_bytes()


def test_series_are_smoothed_with_public_profiles_of_a_file(folder):
    prior = folder / "towns.csv"
    rows = [f"2025-01-06T{hour:02}:00Z,0.{hour + 1},.1,0.5,.2" for hour in range(6)]
    prior.write_text("\n".join(["time,north_p,north_q,south_p,south_q", *rows]))
    made = release(folder, "-o", folder / "smoothed", "--prior", prior, "--quiet")
    assert made.exit_code == 0, made.output
    certificate = json.loads((folder / "smoothed" / "certificate.json").read_text())
    assert certificate["series"]["smoothing"] == "2 public profiles of towns.csv"
    prior.write_text("\n".join(["time,north_p,north_q,south_p,south_q", *rows[1:]]))
    with pytest.raises(GridveilError, match="no row for 2025-01-06T00:00Z"):
        release(folder, "-o", folder / "lacking", "--prior", prior)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--keep", "names"], "--keep: means something without --series only"),
        (["--costs", "derived"], "--costs: means something without --series only"),
        (["--promise", "month"], "there are energy, day, window"),
        (["-o", "/"], "exists and is not overwritten"),
    ],
)
def test_what_means_nothing_is_refused_before_the_draw(folder, tmp_path, arguments, says):
    with pytest.raises(GridveilError, match=says):
        release(folder, "--ledger", tmp_path / "l.sqlite", *arguments)
    assert not (tmp_path / "l.sqlite").exists()


def test_solver_and_device_are_those_of_the_certificate(folder, tmp_path):
    made = release(folder, "--solver", "interior-point", "--device", "cpu",
                   "--ledger", tmp_path / "ledger.sqlite", "-o", tmp_path / "out")  # fmt: skip
    assert made.exit_code == 0, made.output
    solves = json.loads((tmp_path / "out" / "certificate.json").read_text())["solves"]
    assert {(of["solver"], of["device"]) for of in solves} == {("interior-point", "cpu")}
    assert invoke(folder, "verify", tmp_path / "out").exit_code == 0


def test_a_gpu_that_is_not_there_is_refused_before_the_draw(folder, tmp_path):
    """Or, where there is one, solves."""
    ledger = tmp_path / "ledger.sqlite"
    arguments = ("--device", "gpu", "--ledger", ledger, "-o", tmp_path / "out")
    if why_no_gpu() is None:
        assert release(folder, *arguments).exit_code == 0
        solves = json.loads((tmp_path / "out" / "certificate.json").read_text())["solves"]
        assert {of["device"] for of in solves} == {"gpu"}
        return
    with pytest.raises(GridveilError, match="device gpu"):
        release(folder, *arguments)
    assert not ledger.exists()
    assert not list(tmp_path.iterdir())


def test_options_of_series_need_one(folder, tmp_path):
    with pytest.raises(GridveilError, match="--ramps: means something with --series only"):
        invoke(folder, "release", "case5_pjm", "--ramps", "x.csv", "-o", tmp_path / "out")


def test_the_plan_is_one_json_object(folder):
    plan = json.loads(release(folder, "--dry-run", "--json").output)
    assert (plan["hours"], plan["promise_kind"], plan["total_epsilon"]) == (6, "day", 0.0)
    assert set(plan["expected_errors"]["released"]) == {"p", "q", "total", "peak", "ramp"}
