"""A released series under attack: every change is found, and false claims with fitting digests."""

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from gridveil import verify
from gridveil.publication.certificate import Certificate
from gridveil.publication.report.series_redraw import redrawn_series_page
from gridveil.publication.series.tables import SCHEMAS
from tests.publication.series.releases import case14, released

HOURS = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    network, series, _ = case14()
    path = tmp_path_factory.mktemp("series")
    release = released(network, series.between(0, HOURS), path, csv=True)
    release.save(path / "out")
    return release, path / "out"


@pytest.fixture
def out(made, tmp_path):
    return shutil.copytree(made[1], tmp_path / "out")


def broken(folder, **options):
    return {one.name for one in verify(folder, **options).claims if not one.ok}


def forged(made, out, change=lambda content: None, tables=None):
    """Write a release with other tables or claims, and with page and digests that fit."""
    release, _ = made
    content = json.loads(release.files["certificate.json"])
    change(content)
    files = {name: data for name, data in release.files.items() if name != "certificate.json"}
    tables = release.tables if tables is None else tables
    files |= tables.files(with_csv=True)
    content["files"] = dict.fromkeys(files, "")
    certificate = Certificate.model_validate_json(json.dumps(content))
    files["report.html"] = redrawn_series_page(
        certificate, release.published.network.case, tables, files["positions.csv"]
    )
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    certificate = certificate.model_copy(update={"files": digests}).sealed()
    for name, data in files.items():
        (out / name).write_bytes(data)
    (out / "certificate.json").write_bytes(certificate.to_bytes())


def test_an_untouched_release_verifies_in_full(made, out):
    found = verify(out, full=True)
    assert found.ok, [one for one in found.claims if not one.ok]
    (optimal,) = (one for one in found.claims if one.name == "optimal cost")
    assert optimal.claimed == f"of all {HOURS} hours, by a fresh AC-OPF"
    forged(made, out)  # so that what follows is found for what it changes
    assert verify(out).ok


@pytest.mark.parametrize("name", [*SCHEMAS, "loads.csv", "network.m", "report.html"])
def test_any_byte_changed_is_found(out, name):
    data = bytearray((out / name).read_bytes())
    data[len(data) // 2] ^= 1
    (out / name).write_bytes(data)
    assert f"digest of {name}" in broken(out)


def test_files_beside_the_certified_ones_are_found(out):
    (out / "notes.txt").write_text("raw loads")
    assert "files" in broken(out)
    (out / "notes.txt").unlink()
    (out / "voltages.parquet").unlink()
    assert "files" in broken(out)


def with_values(tables, name, change):
    values = getattr(tables, name).copy()
    change(values)
    return replace(tables, **{name: values})


@pytest.mark.parametrize(
    ("name", "place", "factor", "claims"),
    [
        ("loads", (2, 3, 0), 1.001, {"AC-feasible", "violation of each hour"}),
        ("voltages", (1, 4, 0), 1.0001, {"AC-feasible", "violation of each hour"}),
        ("dispatch", (0, 0, 0), 1.001, {"AC-feasible", "cost dispatch"}),
        ("dispatch", (0, 0, 2), 1.1, {"cost target", "costs keep β", "mean O* of each generator"}),
        ("dispatch", (0, 0, 2), 1.00001, {"digits of O*"}),
        ("figures", (3, 0), 1e5, {"violation of each hour"}),
        ("figures", (3, 3), 1.01, {"cost dispatch"}),
        ("figures", (3, 4), 0.99, {"optimal cost"}),
    ],
)
def test_a_false_number_of_any_hour_is_found(made, out, name, place, factor, claims):
    def change(values):
        values[place] *= factor

    forged(made, out, tables=with_values(made[0].tables, name, change))
    assert claims <= broken(out, full=True)


def test_an_hour_that_is_missing_must_be_named(made, out):
    tables = made[0].tables
    keep = np.array([0, 1, 3, 4])
    endings = tuple("left out" if i == 2 else e for i, e in enumerate(tables.endings))
    figures = tables.figures.copy()
    figures[2] = np.nan
    shorter = replace(
        tables,
        released=keep,
        loads=tables.loads[keep],
        dispatch=tables.dispatch[keep],
        voltages=tables.voltages[keep],
        endings=endings,
        figures=figures,
    )
    forged(made, out, tables=shorter)
    assert {"hours left out", "how hours ended"} <= broken(out)


@pytest.mark.parametrize(
    ("part", "field", "value", "claim"),
    [
        ("protection", "epsilon", 0.5, "epsilon"),
        ("protection", "promise", "Nothing can be learnt.", "promise"),
        ("protection", "grid_step_pu", 1e-9, "smallest grid step (p.u.)"),
        ("protection", "not_covered", [], "what is not covered"),
        ("protection", "cumulative_epsilon", 0.01, "cumulative ε"),
        ("protection", "delta", 0.1, "delta"),
        ("series", "hours", HOURS + 1, "hours"),
        ("series", "basis_digest", "0" * 64, "basis digest"),
        ("series", "noise_scales", [1.0], "noise scales b_j"),
        ("series", "promise", "window", "kind of promise"),
        ("series", "mean_violation", 1e-7, "mean violation"),
        ("series", "ramp_excess", 0.5, "ramp limits"),
        ("fidelity", "max_violation", 5e-7, "largest violation"),
        ("fidelity", "cost_dispatch", 1.0, "costs of the dispatch ($)"),
        ("fidelity", "beta", 1e-9, "costs keep β"),
        ("costs", "provenance", "published", "what is public"),
    ],
)
def test_a_false_claim_with_a_fitting_digest_is_found(made, out, part, field, value, claim):
    def change(content):
        assert content[part][field] != value
        content[part][field] = value

    forged(made, out, change)
    assert claim in broken(out)


@pytest.mark.parametrize(
    ("name", "value", "claim"),
    [
        ("epsilon", "1/2", "epsilon"),
        ("alphas", '["1/1000"]', "distances"),
        ("hours", "24", "hours"),
        ("basis_digest", "0" * 64, "mechanism"),
        ("frequencies", "[0, 1]", "mechanism"),
        ("total_epsilon", "1", "epsilon"),
        ("remark", "bus 2 has 21.7 MW", "other parameters"),
    ],
)
def test_other_parameters_than_those_of_the_mechanism_are_found(made, out, name, value, claim):
    def change(content):
        content["protection"]["parameters"][name] = value

    forged(made, out, change)
    assert claim in broken(out)


def test_a_statement_that_does_not_follow_is_found(made, out):
    def change(content):
        content["statement"] = "Private for ever."

    forged(made, out, change)
    found = verify(out)
    assert not found.ok
    assert found.private_as_a_whole is None


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"], ids=["empty", "short", "zeros"]
)
def test_a_table_that_is_none_is_no_match(made, out, data):
    content = json.loads((out / "certificate.json").read_bytes())
    content["files"]["loads.parquet"] = hashlib.sha256(data).hexdigest()
    sealed = Certificate.model_validate_json(json.dumps(content)).sealed()
    (out / "loads.parquet").write_bytes(data)
    (out / "certificate.json").write_bytes(sealed.to_bytes())
    assert "network and tables" in broken(out)
