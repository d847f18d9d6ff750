"""Sweeps: repeatable to the bit, whatever runs them and however often they are killed."""

import datetime
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gridveil.errors import GridveilError
from gridveil.experiments.figure_style import rendered
from gridveil.experiments.run import run_task
from gridveil.experiments.simulate import simulate
from gridveil.experiments.store import Store
from gridveil.experiments.study import Study, read_study
from gridveil.experiments.study import _contents as study_contents
from gridveil.experiments.summary import result_rows, results, summarise
from gridveil.experiments.summary_figure import summary_figure
from gridveil.experiments.sweep import Cluster, sweep
from gridveil.network.library import find_case

SMALL = Study(
    cases=("case3_lmbd", "case5_pjm", "case14_ieee"),
    alphas=(0.01, 0.1),
    methods=("central", "admm"),
    max_iterations=300,
    draws=4,
    draws_per_task=2,
)


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    told = []
    store = sweep(SMALL, folder, workers=1, progress=lambda done, of: told.append((done, of)))
    assert told == [(i, 12) for i in range(13)]
    return store.load(SMALL)


def test_rows_are_what_the_settings_say(serial):
    rows = serial.to_pylist()
    assert len(rows) == 3 * 2 * 2 * 4
    assert {row["seed"] for row in rows} == {1, 2, 3, 4}
    for row in rows:
        assert (row["iterations"] is None) == (row["method"] == "central")
        assert (row["distance_to_central"] is None) == (row["method"] == "central")
        assert row["solved"] or row["method"] == "admm"
    # Twice a task is the same to the bit.
    task = SMALL.tasks()[1]
    assert run_task(task) == run_task(task)


def test_processes_give_the_same_bits(serial, tmp_path):
    assert sweep(SMALL, tmp_path, workers=2).load(SMALL).equals(serial)


def test_what_is_there_is_not_run_again(tmp_path):
    study = SMALL.model_copy(update={"cases": ("case3_lmbd",)})
    store = sweep(study, tmp_path, workers=1)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    told = []
    sweep(study, tmp_path, workers=1, progress=lambda done, of: told.append((done, of)))
    assert told == [(4, 4)]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    assert store.missing(study) == []


def test_other_definitions_and_other_code_never_mix(tmp_path, monkeypatch):
    study = SMALL.model_copy(update={"cases": ("case3_lmbd",), "methods": ("central",)})
    sweep(study, tmp_path, workers=1)
    other = study.model_copy(update={"tolerance": 1e-6})
    assert len(Store(tmp_path).missing(other)) == len(other.tasks())
    monkeypatch.setattr("gridveil.experiments.store.code_version", lambda: "another")
    assert len(Store(tmp_path).missing(study)) == len(study.tasks())
    with pytest.raises(GridveilError, match="no results of this study by this code"):
        Store(tmp_path).load(study)


SCRIPT = """
import sys
from pathlib import Path
from gridveil.experiments.sweep import sweep
from tests.experiments.test_sweep import SMALL
sweep(SMALL, Path(sys.argv[1]), workers=int(sys.argv[2]))
"""


def test_a_sweep_killed_ten_times_is_one_clean_run(serial, tmp_path):
    choose = random.Random(2)
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path), "1"], start_new_session=True
        )
        time.sleep(1.2 + choose.random() * 0.8)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    store = sweep(SMALL, tmp_path, workers=1)
    assert store.load(SMALL).equals(serial)
    assert len(list(tmp_path.glob("*.parquet"))) == len(SMALL.tasks())


def test_a_dask_cluster_that_loses_a_worker(serial, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is an extra")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster:
        victims = [worker.process.pid for worker in cluster.workers.values()]

        def kill_one(done, of):
            if done == 2:
                threading.Thread(target=os.kill, args=(victims[0], signal.SIGKILL)).start()

        where = Cluster(cluster.scheduler_address)
        store = sweep(SMALL, tmp_path, cluster=where, progress=kill_one)
    assert store.load(SMALL).equals(serial)


def certificate(folder, name, issuer=None):
    """Write a certificate and its key; one without an issuer is an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer[0].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(issuer is None, None), critical=True)
        .sign(key if issuer is None else issuer[1], hashes.SHA256())
    )
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    pem = serialization.Encoding.PEM
    paths[0].write_bytes(signed.public_bytes(pem))
    form, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(pem, form, nothing))
    return (signed, key), paths


def test_a_dask_cluster_with_tls(serial, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is an extra")
    authority, (ca, _) = certificate(tmp_path, "authority")
    _, (cert, key) = certificate(tmp_path, "member", authority)
    roles = {f"tls_{role}_cert": str(cert) for role in ("scheduler", "worker", "client")}
    keys = {f"tls_{role}_key": str(key) for role in ("scheduler", "worker", "client")}
    security = distributed.Security(tls_ca_file=str(ca), require_encryption=True, **roles, **keys)
    study = SMALL.model_copy(update={"cases": ("case3_lmbd",)})
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, security=security,
        protocol="tls://",
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        store = sweep(study, tmp_path / "rows", cluster=Cluster(address, ca, cert, key))
        with pytest.raises(GridveilError, match="no Dask cluster"):
            sweep(SMALL, tmp_path / "none", cluster=Cluster(address))
    assert store.load(study).equals(serial.slice(0, len(store.load(study))))


def test_another_file_of_the_same_name_is_another_study(tmp_path):
    case = tmp_path / "mine.m"
    text = find_case("case3_lmbd").read_bytes()
    case.write_bytes(text)
    study = Study(cases=(str(case),), draws=1)
    store = sweep(study, tmp_path / "rows", workers=1)
    assert store.missing(study) == []
    (task,) = study.tasks()
    case.write_bytes(text.replace(b"110.0", b"111.0"))
    study_contents.cache_clear()
    assert len(store.missing(study)) == 1
    with pytest.raises(GridveilError, match="not the same file here"):
        run_task(task)


def test_a_summary_is_drawn(serial, tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib is an extra")
    figure = summary_figure(summarise(serial))
    assert len(figure.axes) == 3 * 4
    for suffix, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert rendered(figure)[suffix].startswith(magic)


def test_no_cluster_is_told(tmp_path):
    pytest.importorskip("distributed", reason="Dask is an extra")
    with pytest.raises(GridveilError, match="no Dask cluster"):
        sweep(SMALL, tmp_path, cluster=Cluster("nonsense://x"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases = []", "cases"),
        ("", "cases"),
        ('cases = ["a"]\nalphas = [0]', "alphas.0"),
        ('cases = ["a"]\nmethods = ["magic"]', "methods.0"),
        ('cases = ["a"]\ndraws = 0', "draws"),
        ('cases = ["a"]\nwhat = 1', "what"),
        ("cases = [", "cannot be read"),
        ('cases = ["a"]\nmechanisms = ["relative-laplace"]', "say --hide in %"),
        ('cases = ["a"]\nhides = ["10%"]\nalphas = [0.1]', "both say what is hidden"),
        ('cases = ["a"]\nhides = ["10%"]\nmechanisms = ["polar-laplace"]', "no relative distance"),
        ('cases = ["a"]\nhides = ["10%rating"]', "a study has no ratings"),
        ('cases = ["a"]\nhides = ["much"]', "none of 10%"),
    ],
)
def test_a_broken_study_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(GridveilError, match=message):
        read_study(path)


def test_studies_say_what_is_hidden(tmp_path):
    study = Study(
        cases=("case5_pjm",), hides=("10%", "5MVA"), methods=("central",), betas=(0.1,), draws=2
    )
    assert [(task.mechanism, task.hide, task.alpha) for task in study.tasks()] == [
        ("relative-laplace", "10%", None), ("product-laplace", "5MVA", None),
    ]  # fmt: skip
    sweep(study, tmp_path, workers=1)
    lines = results(study, tmp_path)
    assert [(line["mechanism"], line["hide"], line["draws"]) for line in lines] == [
        ("relative-laplace", "10%", 2), ("product-laplace", "5MVA", 2),
    ]  # fmt: skip
    by_hand = simulate("case5_pjm", hide="10%", beta=0.1, seed=1, method="central")
    row = result_rows(study, tmp_path).to_pylist()[0]
    assert row["displacement"] == pytest.approx(by_hand.restored.displacement, rel=1e-9)
    assert summary_figure(lines).axes
