"""Signatures: which are genuine, and what is said of all others."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from gridveil.errors import GridveilError
from gridveil.publication.signing import (
    SignatureState,
    as_verification_key,
    check_signature,
    key_id_of,
    read_public_key,
    sign,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
PUBLIC = as_verification_key(KEY.public_key())
OTHER = as_verification_key(Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)).public_key())
CERTIFICATE = b'{"format": "gridveil-certificate"}\n'
SIGNATURE = sign(KEY, CERTIFICATE)
END = datetime(2030, 1, 1, tzinfo=UTC)
MADE = Path(__file__).parent / "data" / "version-1"


def state(signature, certificate=CERTIFICATE, key=PUBLIC, now=None):
    return check_signature(signature, certificate, key, now).state


def x509_pem(key, subject="Grid operator North", signer=None):
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(END - timedelta(days=365))
        .not_valid_after(END)
    )
    signed = builder.sign(signer or key, SHA256() if signer else None)
    return signed.public_bytes(Encoding.PEM)


def test_a_signature_names_format_key_and_is_always_the_same():
    content = json.loads(SIGNATURE)
    assert (content["format"], content["version"], content["algorithm"]) == (
        "gridveil-signature",
        1,
        "Ed25519",
    )
    assert content["key_id"] == PUBLIC.key_id == key_id_of(KEY.public_key())
    assert sign(KEY, CERTIFICATE) == SIGNATURE
    assert state(SIGNATURE) is SignatureState.GENUINE


def test_what_is_said_of_each_kind_of_signature():
    found = check_signature(None, CERTIFICATE, None)
    assert found.state.value == "unsigned: anyone could have written this"
    assert state(None) is SignatureState.UNSIGNED
    found = check_signature(SIGNATURE, CERTIFICATE, None)
    assert found.state is SignatureState.UNCHECKED
    assert "--key" in found.state.value
    assert found.key_id == PUBLIC.key_id
    found = check_signature(SIGNATURE, CERTIFICATE, OTHER)
    assert (found.state, found.key_id) == (SignatureState.OTHER_KEY, PUBLIC.key_id)
    assert state(SIGNATURE, CERTIFICATE + b" ") is SignatureState.NOT_GENUINE
    assert not check_signature(SIGNATURE, CERTIFICATE + b" ", PUBLIC).is_genuine


def changed(**values):
    return (json.dumps({**json.loads(SIGNATURE), **values}, indent=2) + "\n").encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"\xff\x00",
        b"{}",
        b"[" * 60_000,
        b"null",
        SIGNATURE + b" ",
        SIGNATURE.replace(b'"version": 1,', b'"version": 0,\n  "version": 1,'),
        changed(version=2),
        changed(version=True),
        changed(algorithm="none"),
        changed(key_id=PUBLIC.key_id.upper()),
        changed(key_id=PUBLIC.key_id + "\n"),
        changed(key_id="\x1b[2J"),
        changed(signature=""),
        changed(signature="A" * 60_000),
        changed(more="x"),
        base64.b64encode(bytes(63)),
        b"A" * 85 + b"B==",  # bits that no encoder sets
    ],
)
@pytest.mark.parametrize("key", [None, PUBLIC])
def test_what_is_no_signature_is_found_with_a_key_and_without(data, key):
    assert state(data, key=key) is SignatureState.MALFORMED


def test_the_first_form_is_still_read():
    raw = KEY.sign(CERTIFICATE)
    old = base64.b64encode(raw) + b"\n"
    assert state(old) is SignatureState.GENUINE
    assert state(old, key=OTHER) is SignatureState.NOT_GENUINE
    assert check_signature(old, CERTIFICATE, None).key_id is None
    key = read_public_key(MADE / "key.pub")
    folder = MADE / "release"
    files = [(folder / name).read_bytes() for name in ("certificate.sig", "certificate.json")]
    assert state(*files, key) is SignatureState.GENUINE
    assert state(files[0], files[1] + b" ", key) is SignatureState.NOT_GENUINE


def test_a_signature_of_one_form_is_none_of_the_other():
    new = json.loads(SIGNATURE)["signature"]
    assert state(new.encode()) is SignatureState.NOT_GENUINE
    old = base64.b64encode(KEY.sign(CERTIFICATE)).decode()
    assert state(changed(signature=old)) is SignatureState.NOT_GENUINE
    assert state(changed(key_id=OTHER.key_id), key=OTHER) is SignatureState.NOT_GENUINE


def test_a_key_in_a_certificate_brings_its_subject_and_its_expiry(tmp_path):
    path = tmp_path / "operator.pem"
    path.write_bytes(x509_pem(KEY))
    key = read_public_key(path)
    assert (key.key_id, key.subject, key.expires) == (
        PUBLIC.key_id,
        "CN=Grid operator North",
        END,
    )
    day = timedelta(days=1)
    found = check_signature(SIGNATURE, CERTIFICATE, key, END - day)
    assert (found.state, found.subject, found.expires) == (
        SignatureState.GENUINE,
        "CN=Grid operator North",
        END,
    )
    found = check_signature(SIGNATURE, CERTIFICATE, key, END + day)
    assert found.state is SignatureState.EXPIRED
    assert found.is_genuine
    found = check_signature(SIGNATURE, CERTIFICATE, key, key.begins - day)
    assert found.state is SignatureState.NOT_YET_VALID
    assert found.is_genuine
    assert state(SIGNATURE, CERTIFICATE + b" ", key, END + day) is SignatureState.NOT_GENUINE


def test_a_key_is_taken_bare_or_by_its_file(tmp_path):
    path = tmp_path / "key.pub"
    path.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert as_verification_key(None) is None
    assert as_verification_key(PUBLIC) is PUBLIC
    for given in (path, str(path), KEY.public_key()):
        assert as_verification_key(given).key_id == PUBLIC.key_id
    assert (PUBLIC.subject, PUBLIC.expires) == (None, None)


def test_a_hostile_subject_is_short_and_printable(tmp_path):
    path = tmp_path / "operator.pem"
    path.write_bytes(x509_pem(KEY, "\x1b[2J\u202e" + "x" * 50))
    assert read_public_key(path).subject.isprintable()
    assert "x" * 50 in read_public_key(path).subject


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no public key could be read"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "no public key"),
        (x509_pem(KEY).replace(b"END CERT", b"END PERT"), "no public key could be read"),
    ],
)
def test_a_file_without_a_key_is_refused(tmp_path, data, says):
    path = tmp_path / "key.pub"
    path.write_bytes(data)
    with pytest.raises(GridveilError, match=says):
        read_public_key(path)


def test_a_key_of_another_kind_is_refused(tmp_path):
    other = generate_private_key(SECP256R1())
    path = tmp_path / "key.pub"
    for pem in (
        other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        x509_pem(other, signer=other),
    ):
        path.write_bytes(pem)
        with pytest.raises(GridveilError, match="an Ed25519 public key is needed"):
            read_public_key(path)
