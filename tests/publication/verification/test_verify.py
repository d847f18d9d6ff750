"""Whatever is changed in a release, verification finds it."""

import copy
import hashlib
import json
import os
import random
import shutil
from contextlib import suppress

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from gridveil import Ledger, PolarLaplace, PublicBounds, load_case, release, solve_acopf, verify
from gridveil.claims import ClaimVerdict
from gridveil.errors import GridveilError
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.publication.certificate import Certificate
from gridveil.publication.report.redraw import redrawn_page
from gridveil.publication.signing import (
    as_verification_key,
    check_signature,
    read_private_key,
    read_public_key,
)
from tests.publication.forging import with_loads


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    ledger = Ledger(folder / "ledger.sqlite")
    found = release(
        load_case("case14_ieee"),
        ledger,
        mechanism=PolarLaplace.of(1, 0.1),
        beta=0.01,
        release_id="one",
    )
    found.save(folder / "out")
    return folder / "out"


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def broken(folder):
    return [claim.name for claim in verify(folder).claims if not claim.ok]


def test_an_untouched_release_verifies(out):
    assert broken(out) == []


@pytest.mark.parametrize("name", ["network.m", "loads.csv", "positions.csv", "report.html"])
def test_any_byte_changed_is_found(out, name):
    data = (out / name).read_bytes()
    choose = random.Random(5)
    for position in sorted(choose.sample(range(len(data)), 40)):
        changed = bytearray(data)
        changed[position] ^= 1 << choose.randrange(8)
        (out / name).write_bytes(bytes(changed))
        assert f"digest of {name}" in broken(out)
    (out / name).unlink()
    assert "files" in broken(out)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A signed release by agents, which has every file that a release can have, and its key."""
    folder, key = tmp_path_factory.mktemp("signed"), Ed25519PrivateKey.generate()
    found = release("case5_pjm", folder / "ledger.sqlite", method="admm", beta=0.05, key=key)
    found.save(folder / "out")
    return folder / "out", key.public_key()


@pytest.mark.parametrize("name", ["history.csv", "certificate.json", "certificate.sig"])
def test_any_bit_changed_in_the_other_files_is_found(signed, tmp_path, name):
    folder, key = signed
    assert len(list(folder.iterdir())) == 7
    assert verify(folder, key).ok
    shutil.copytree(folder, tmp_path / "out")
    data = (folder / name).read_bytes()
    choose = random.Random(7)
    for position in choose.sample(range(len(data)), 40):
        changed = bytearray(data)
        changed[position] ^= 1 << choose.randrange(8)
        (tmp_path / "out" / name).write_bytes(bytes(changed))
        assert not verify(tmp_path / "out", key).ok, position
        if name != "certificate.sig":  # of which nobody knows anything without the key
            assert not verify(tmp_path / "out").ok, position


def test_every_bit_of_a_signature_counts(signed):
    folder, key = signed
    certificate, data = ((folder / f"certificate.{end}").read_bytes() for end in ("json", "sig"))
    public = as_verification_key(key)
    assert check_signature(data, certificate, public).is_genuine
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        assert not check_signature(bytes(changed), certificate, public).is_genuine, bit


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path, value


def test_any_value_of_the_certificate_changed_is_found(out):
    path = out / "certificate.json"
    content = json.loads(path.read_text())
    for place, value in leaves(content):
        changed = copy.deepcopy(content)
        at = changed
        for key in place[:-1]:
            at = at[key]
        if isinstance(value, str):
            at[place[-1]] = value + "x"
        elif value is None:
            at[place[-1]] = 1.0
        else:
            at[place[-1]] = value * 1.001 + 1e-9 if isinstance(value, float) else value + 1
        path.write_text(json.dumps(changed))
        assert broken(out), place


def resealed(folder, change):
    """Change a certificate, and page and digests to fit, as someone with bad intent would."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    change(content)
    certificate = Certificate.model_validate(content)
    case = parse_matpower((folder / "network.m").read_text(), "network.m", certificate.network)
    with suppress(Exception):  # of numbers that no page can show
        positions = (folder / "positions.csv").read_bytes()
        loads = with_loads(case, certificate.load_buses)
        page = redrawn_page(certificate, loads, positions, None)
        (folder / "report.html").write_bytes(page)
        digest = hashlib.sha256(page).hexdigest()
        files = {**certificate.files, "report.html": digest}
        certificate = certificate.model_copy(update={"files": files})
    path.write_bytes(certificate.sealed().to_bytes())


def test_other_loads_with_fitting_digests_break_the_claims(out):
    for name in ("network.m", "loads.csv"):
        text = (out / name).read_text()
        load = (out / "loads.csv").read_text().splitlines()[3].split(",")[2]
        (out / name).write_text(text.replace(load, repr(float(load) + 1.0)))

    def change(content):
        for name in ("network.m", "loads.csv"):
            content["files"][name] = hashlib.sha256((out / name).read_bytes()).hexdigest()

    resealed(out, change)
    assert "violation: active balance" in broken(out)
    assert "AC-feasible" in broken(out)


@pytest.mark.parametrize(
    ("part", "field", "claim"),
    [
        ("fidelity", "cost_gap_optimal", "its gap to O*"),
        ("fidelity", "cost_optimal", "optimal cost ($/h)"),
        ("fidelity", "cost_dispatch", "cost of the dispatch ($/h)"),
        ("fidelity", "worst_generator_gap", "worst generator's gap"),
        ("fidelity", "max_violation", "largest violation"),
        ("protection", "epsilon", "noise scale (p.u.)"),
        ("protection", "alpha_mva", "α in MVA"),
        ("protection", "loads", "loads"),
    ],
)
def test_a_false_claim_with_a_fitting_digest_is_found(out, part, field, claim):
    def change(content):
        content[part][field] += 1 if field == "loads" else 0.01

    resealed(out, change)
    assert claim in broken(out)


def test_a_smaller_beta_than_kept_is_found(out):
    promise = "running it at its cheapest comes within 1e-09 of the costs O*"
    resealed(out, lambda content: content["fidelity"].update(beta=1e-9, promise=promise))
    assert broken(out) == ["costs keep β"]


def test_costs_can_be_held_against_the_published_ones(tmp_path):
    costs, out = solve_acopf(load_case("case14_ieee")).generator_costs, tmp_path / "out"
    rows = [f"{i + 1},{float(cost)!r}" for i, cost in enumerate(costs)]
    table = tmp_path / "costs.csv"
    table.write_text("\n".join(["generator,cost", *rows]))
    ledger = tmp_path / "ledger.sqlite"
    release("case14_ieee", ledger, costs=table, costs_source="annual report").save(out)
    result = verify(out, costs=table)
    assert result.ok
    (told,) = (claim for claim in result.claims if claim.name == "costs O*")
    assert (told.verdict, told.claimed) == (ClaimVerdict.STATED, "published: annual report")
    table.write_text("\n".join(["generator,cost", *rows[:-1], f"{len(rows)},1.0"]))
    assert not verify(out, costs=table).ok


def write_keys(folder, name):
    """Write a pair of keys as openssl does."""
    key = Ed25519PrivateKey.generate()
    pem = Encoding.PEM
    private = key.private_bytes(pem, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.pem").write_bytes(private)
    public = key.public_key().public_bytes(pem, PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub").write_bytes(public)


def test_signatures(tmp_path):
    for name in ("mine", "other"):
        write_keys(tmp_path, name)
    key = read_private_key(tmp_path / "mine.pem")
    ledger = Ledger(tmp_path / "ledger.sqlite")
    mechanism = PolarLaplace.of(1, 0.1)
    made = release(
        load_case("case14_ieee"), ledger, mechanism=mechanism, beta=0.01, release_id="one", key=key
    )
    made.save(tmp_path / "out")
    mine, other = (read_public_key(tmp_path / f"{name}.pub") for name in ("mine", "other"))
    assert verify(tmp_path / "out", mine).ok
    assert not verify(tmp_path / "out", other).ok
    resealed(tmp_path / "out", lambda content: content.update(release_id="two"))
    assert verify(tmp_path / "out").ok  # without a signature nobody can know
    assert [c.name for c in verify(tmp_path / "out", mine).claims if not c.ok] == ["signature"]
    (tmp_path / "out" / "certificate.sig").write_text("not base64 !")
    assert not verify(tmp_path / "out", mine).ok
    (tmp_path / "out" / "certificate.sig").unlink()
    assert not verify(tmp_path / "out", mine).ok
    with pytest.raises(GridveilError, match="no private key"):
        read_private_key(tmp_path / "mine.pub")
    with pytest.raises(GridveilError, match="no public key"):
        read_public_key(tmp_path / "none.pub")


def test_what_is_no_release_is_bad_input(tmp_path):
    with pytest.raises(GridveilError, match="a release is a folder with"):
        verify(tmp_path)
    (tmp_path / "certificate.json").write_text("{}")
    assert broken(tmp_path) == ["schema"]
    (tmp_path / "certificate.json").write_bytes(b"\xff\x00")
    assert broken(tmp_path) == ["schema"]


def test_a_certificate_cannot_point_outside_its_folder(out):
    def change(content):
        content["files"]["../ledger.sqlite"] = "0" * 64

    resealed(out, change)
    assert broken(out)[0] == "files"


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("protection", {"alpha_mva": None}),
        ("protection", {"noise_scale_pu": None, "epsilon": 0.001}),
        ("protection", {"epsilon_costs": -999.0, "noise_scale_pu": 0.0001}),
        ("protection", {"epsilon_costs": 1.0}),
        ("protection", {"grid_step_pu": -0.1}),
        ("protection", {"delta": 0.5}),
        ("protection", {"cumulative_epsilon": 0.1}),
        ("protection", {"mechanism": "magic"}),
        ("protection", {"entropy": "a seed"}),
        ("protection", {"unit": "everything"}),
        ("fidelity", {"status": "infeasible"}),
        ("costs", {"provenance": "published"}),
        ("costs", {"provenance": "derived"}),
        ("costs", {"provenance": "bought"}),
        ("costs", {"source": "computed in another way"}),
        ("protection", {"not_covered": []}),
        (None, {"private_as_a_whole": False}),
        (None, {"statement": "Private, as everybody knows."}),
        (None, {"kept": ["comments"]}),
        (None, {"invariants": []}),
        (None, {"base_mva": 10_000.0}),
        (None, {"load_buses": [10**400]}),
        (None, {"files": {}}),
    ],
)
def test_contradictions_are_found(out, part, values):
    path = out / "certificate.json"
    content = json.loads(path.read_text())
    (content if part is None else content[part]).update(values)
    try:
        path.write_bytes(Certificate.model_validate(content).sealed().to_bytes())
    except ValueError:
        path.write_text(json.dumps(content))
    assert broken(out)


def test_a_key_that_stands_twice_is_found(out):
    path = out / "certificate.json"
    text = path.read_text()
    path.write_text(text.replace('"epsilon": 1.0,', '"epsilon": 0.001,\n    "epsilon": 1.0,'))
    assert broken(out) == ["schema"]


def test_hostile_folders_are_no_match(out):
    (out / "extra.txt").write_text("x")
    assert broken(out)[0] == "files"
    (out / "extra.txt").unlink()
    (out / "report.html").unlink()
    (out / "report.html").symlink_to("report.html")
    assert "digest of report.html" in broken(out)
    (out / "certificate.json").unlink()
    os.mkfifo(out / "certificate.json")
    with pytest.raises(GridveilError, match="not a file"):
        verify(out)


def test_a_table_with_other_columns_is_found(out):
    path = out / "loads.csv"
    path.write_text(path.read_text().replace("p_mw,q_mvar", "q_mvar,p_mw"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    resealed(out, lambda content: content["files"].update({"loads.csv": digest}))
    assert broken(out) == ["loads.csv"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": "1e999999999"},
        {"alpha": "1e-999999999"},
        {"mechanism": "product-laplace"},
        {"calibration": "paper"},
        {"clamped": "yes"},
        {"bounds": "somewhere"},
        None,
    ],
)
def test_parameters_that_contradict_the_figures_are_found_at_once(out, parameters):
    def change(content):
        stated = content["protection"]
        stated["parameters"] = {} if parameters is None else {**stated["parameters"], **parameters}

    resealed(out, change)
    assert set(broken(out)) & {"parameters", "mechanism and bounds"}


def test_the_parameters_of_the_piecewise_mechanism_are_checked(tmp_path):
    bounds = PublicBounds(np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]]), "ratings")
    made = release(
        "case14_ieee", tmp_path / "ledger.sqlite", mechanism="piecewise", bounds=bounds, beta=0.1
    )
    made.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    resealed(tmp_path / "out", lambda c: c["protection"]["parameters"].update(epsilon="1/2"))
    assert broken(tmp_path / "out") == ["parameters"]


def test_thousands_of_parameters_of_an_unknown_mechanism_are_no_match(out):
    def change(content):
        many = {f"{number}": "\x1b[2J" for number in range(5000)}
        content["protection"].update(mechanism="own", parameters={"mechanism": "own", **many})

    resealed(out, change)
    assert not verify(out).ok
    assert len(verify(out).claims) < 80


def test_a_garbage_signature_is_found_without_a_key_too(out):
    (out / "certificate.sig").write_text("garbage")
    assert broken(out) == ["signature"]
    (out / "certificate.sig").unlink()
    (out / "certificate.sig").symlink_to(out / "certificate.json")
    assert broken(out) == ["signature"]


def test_a_huge_signature_is_refused_at_once(out):
    with (out / "certificate.sig").open("wb") as file:
        file.truncate(6 * 2**30)
    assert broken(out) == ["signature"]


def test_a_folder_with_too_many_files_is_found(out):
    for number in range(200):
        (out / f"{number}").touch()
    assert broken(out)[0] == "files"
