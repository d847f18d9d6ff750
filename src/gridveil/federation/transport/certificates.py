"""Who is who in a consortium: one authority, and a short-lived certificate for every member.

A member's name is the common name of its certificate. Whoever holds the authority's key can be
anyone, so that its folder stays with whoever runs the consortium and off the members' machines.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gridveil.errors import GridveilError
from gridveil.federation.names import check_name
from gridveil.publication.folder import write_folder

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "certificate.pem", "key.pem"
CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True)
class Identity:
    """What a member proves its name with, and what it checks the others' names against."""

    authority: Path
    certificate: Path
    key: Path


def identity_of(folder: Path, member: str) -> Identity:
    """Return where `issue` puts a member's files."""
    own = folder / check_name(member)
    return Identity(own / AUTHORITY, own / CERTIFICATE, own / KEY)


def make_authority(folder: Path, consortium: str, days: float) -> None:
    """Make the authority of a new consortium, in a new folder for its owner's eyes only."""
    key = generate_private_key(SECP256R1())
    name = _common_name(consortium)
    certificate = (
        _builder(name, name, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, SHA256())
    )
    write_folder(folder, {AUTHORITY: _pem(certificate), KEY: _pem_of_key(key)}, private=True)


def issue(
    authority_folder: Path, folder: Path, member: str, hosts: Iterable[str], days: float
) -> Identity:
    """Give a member a key and a certificate that it may use at these hosts, for so many days."""
    identity = identity_of(folder, member)
    authority = _read_certificate(authority_folder / AUTHORITY)
    authority_key = _read_key(authority_folder / KEY)
    key = generate_private_key(SECP256R1())
    names = [_alternative_name(host) for host in hosts]
    if not names:
        raise GridveilError(f"{member} needs a host that its peers can reach it at")
    builder = (
        _builder(authority.subject, _common_name(member), key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
            ),
            critical=False,
        )
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    certificate = builder.sign(authority_key, SHA256())
    if certificate.not_valid_after_utc > authority.not_valid_after_utc:
        raise GridveilError(
            f"{authority_folder}: the authority itself ends on "
            f"{authority.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; choose fewer days than {days:g}"
        )
    files = {AUTHORITY: _pem(authority), CERTIFICATE: _pem(certificate), KEY: _pem_of_key(key)}
    write_folder(identity.key.parent, files, private=True)
    return identity


def check_identity(identity: Identity, member: str) -> None:
    """Refuse files that the member's peers would refuse, and say why: they would only be silent."""
    authority = _read_certificate(identity.authority)
    certificate = _read_certificate(identity.certificate)
    _check_dates(authority, identity.authority)
    _check_dates(certificate, identity.certificate)
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        raise GridveilError(
            f"{identity.certificate}: not signed by {identity.authority}; "
            "ask the consortium for a certificate of its authority"
        ) from None
    if certificate.subject != _common_name(member):
        raise GridveilError(
            f"{identity.certificate}: issued to {certificate.subject.rfc4514_string()}, "
            f"not to CN={member}"
        )
    if _read_key(identity.key).public_key() != certificate.public_key():
        raise GridveilError(f"{identity.key}: not the key of {identity.certificate}")


def _builder(
    issuer: x509.Name, subject: x509.Name, key: EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    """Start a certificate that is valid from now, on a clock that may be a little behind ours."""
    if not 0 < days <= 36500:
        raise GridveilError(f"a certificate cannot be valid for {days:g} days; choose more than 0")
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    """Allow a key to sign certificates, or handshakes, and nothing else."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, check_name(name))])


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", host):
        raise GridveilError(f"{host!r} is neither an IP address nor a host name (without a port)")
    return x509.DNSName(host)


def _check_dates(certificate: x509.Certificate, path: Path) -> None:
    now = datetime.now(UTC)
    if now > certificate.not_valid_after_utc:
        raise GridveilError(
            f"{path}: expired on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; "
            "ask the consortium for a new one"
        )
    if now < certificate.not_valid_before_utc:
        raise GridveilError(
            f"{path}: not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC; "
            "is this machine's clock right?"
        )


def _read_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise GridveilError(f"{path}: no certificate could be read: {error}") from None


def _read_key(path: Path) -> EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise GridveilError(f"{path}: no private key could be read: {error}") from None
    if not isinstance(key, EllipticCurvePrivateKey):
        raise GridveilError(f"{path}: a key on an elliptic curve is needed")
    return key


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _pem_of_key(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
