"""A released series under attack: every change is found, and false claims with fitting digests."""

import hashlib
import io
import json
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gridveil import verify
from gridveil.errors import GridveilError
from gridveil.publication.certificate import Certificate
from gridveil.publication.report.series_redraw import redrawn_series_page
from gridveil.publication.series.export.export import export_series
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


def test_a_distance_below_that_of_the_promise_is_found(made, out):
    def change(content):
        of = content["protection"]
        alphas = [Fraction(alpha) / 1000 for alpha in json.loads(of["parameters"]["alphas"])]
        of["parameters"]["alphas"] = json.dumps([str(alpha) for alpha in alphas])
        of["grid_step_pu"] = float(min(alphas) / 1000)
        of["cumulative_distance_mva"] /= 1000

    forged(made, out, change)
    assert broken(out) == {"distance of each load"}


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("protection", "noise_scale_pu", 77.0),
        ("protection", "bounds", "bus 2 has 21.7 MW"),
        ("costs", "true_cost", {"meaning": "It is 5 $/h.", "low": 4.0, "high": 5.0}),
    ],
)
def test_a_claim_that_no_series_makes_is_found(made, out, part, field, value):
    forged(made, out, lambda content: content[part].update({field: value}))
    assert broken(out) == {"single noise scale, bounds, interval for the true cost"}


def test_hours_end_in_known_ways_alone(made, out):
    ending = "bus 2 has 21.7 MW"
    tables = replace(made[0].tables, endings=(ending, *made[0].tables.endings[1:]))

    def change(content):
        content["series"]["endings"][made[0].tables.endings[0]] -= 1
        content["series"]["endings"][ending] = 1

    forged(made, out, change, tables)
    assert "how hours ended" in broken(out)


def test_numbers_of_hours_that_were_left_out_are_found(made, out):
    tables = made[0].tables
    least = int(tables.loads[..., 0].sum(axis=1).argmin())  # not the hour of network.m
    keep = np.delete(np.arange(HOURS), least)
    endings = tuple("left out" if i == least else e for i, e in enumerate(tables.endings))
    parts = {name: getattr(tables, name)[keep] for name in ("loads", "dispatch", "voltages")}
    shorter = replace(tables, released=keep, endings=endings, **parts)
    forged(made, out, tables=shorter)
    assert "columns without numbers" in broken(out)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"generator,ramp_mw", b"bus 2,21.7 MW"),
        (b"1,", b"1,9999\n1,"),
        (b"1,", b" 1,"),
        (b"\n2,", b"\n2,inf\n3,"),
    ],
    ids=["heading", "twice", "blank", "infinite"],
)
def test_ramps_hold_limits_and_nothing_else(tmp_path, old, new):
    network, series, _ = case14()
    limits = tmp_path / "ramps.csv"
    limits.write_text("generator,ramp_mw\n1,500\n2,500\n")
    made = released(network, series.between(0, 2), tmp_path, ramps=limits)
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    data = made.files["ramps.csv"].replace(old, new, 1)
    reseal(tmp_path / "out", "ramps.csv", data)
    assert "ramps.csv" in broken(tmp_path / "out")


def reseal(folder, name, data):
    """Write another file into a folder, with a certificate that has its digest."""
    content = json.loads((folder / "certificate.json").read_bytes())
    content["files"][name] = hashlib.sha256(data).hexdigest()
    sealed = Certificate.model_validate_json(json.dumps(content)).sealed()
    (folder / name).write_bytes(data)
    (folder / "certificate.json").write_bytes(sealed.to_bytes())


def constant_table(rows, group):
    """Return a table of loads that is far larger than its file."""
    schema = SCHEMAS["loads.parquet"]
    zeros = pa.array(np.zeros(group, dtype=np.int64))
    table = pa.Table.from_arrays([zeros.cast(field.type) for field in schema], schema=schema)
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for _ in range(rows // group):
            writer.write_table(table)
    return sink.getvalue()


def test_a_table_that_would_fill_memory_is_not_read(out, tmp_path):
    data = constant_table(10**7, 10**6)
    reseal(out, "loads.parquet", data)
    tracked = pa.default_memory_pool().max_memory()
    (readable,) = (c for c in verify(out).claims if c.name == "network and tables")
    assert "is too large" in readable.found
    with pytest.raises(GridveilError, match="is too large"):
        export_series(out, "csv", tmp_path / "loads.csv")
    assert pa.default_memory_pool().max_memory() == tracked
    assert not (tmp_path / "loads.csv").exists()


def test_a_long_text_in_a_table_is_not_read(out):
    table = pq.read_table(io.BytesIO((out / "hours.parquet").read_bytes()))
    texts = pa.array(["x" * 2**22] * HOURS)
    table = table.set_column(1, "ending", texts)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", dictionary_pagesize_limit=2**30)
    reseal(out, "hours.parquet", sink.getvalue())
    (readable,) = (c for c in verify(out).claims if c.name == "network and tables")
    assert "is too large" in readable.found


def test_a_basis_that_would_fill_memory_is_not_made(made, out):
    hours = 2**18
    frequencies = list(range(20_000))

    def change(content):
        content["protection"]["parameters"] |= {
            "promise": "window",
            "hours": str(hours),
            "block_hours": str(hours),
            "frequencies": json.dumps(frequencies),
            "shares": json.dumps([1] * len(frequencies)),
        }

    content = json.loads((out / "certificate.json").read_bytes())
    change(content)
    sealed = Certificate.model_validate_json(json.dumps(content)).sealed()
    (out / "certificate.json").write_bytes(sealed.to_bytes())
    assert {"private as a whole", "mechanism"} <= broken(out)


@pytest.mark.parametrize("data", [b"[" * 10**6, b'{"a":' * 10**5, b"[]", b"\xff"])
def test_a_certificate_that_is_none_is_no_match_for_export(out, tmp_path, data):
    (out / "certificate.json").write_bytes(data)
    with pytest.raises(GridveilError, match="certificate"):
        export_series(out, "csv", tmp_path / "loads.csv")


@pytest.mark.parametrize("name", ["costs", "dispatch"])
def test_public_targets_are_not_taken_for_those_of_a_series(out, tmp_path, name):
    assert f"{name} of the file" in broken(out, **{name: tmp_path / "none.csv"})
