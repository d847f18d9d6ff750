"""X.509 certificates of a consortium: one authority, and a short-lived certificate per member.

The common name of a certificate is the member's name. Whoever holds the authority's key can
impersonate any member, so its folder stays with the keeper of the consortium, off the members'
machines.
"""

import re
from collections.abc import Sequence
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
_MAX_DAYS = 36500


@dataclass(frozen=True)
class Identity:
    """The files with which a member proves its name and checks those of others."""

    authority: Path
    certificate: Path
    key: Path


def identity_of(folder: Path, member: str) -> Identity:
    """Return the files that `issue` writes for a member into a folder."""
    own = folder / check_name(member)
    return Identity(own / AUTHORITY, own / CERTIFICATE, own / KEY)


def init(folder: str | Path, consortium: str = "consortium", days: float = 365) -> None:
    """Make the authority of a consortium. Whoever has its key can impersonate any member.

    Args:
        folder: A new folder, readable by its owner only.
        consortium: Name of the consortium.
        days: How long the authority is valid.

    Raises:
        GridveilError: The folder exists, or the name or the number of days is not possible.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     init(f"{folder}/authority", "north")
        ...     made = issue(f"{folder}/authority", "party-1", f"{folder}/members", "127.0.0.1")
        ...     made.certificate.relative_to(folder).as_posix()
        'members/party-1/certificate.pem'
    """
    key = generate_private_key(SECP256R1())
    name = _common_name(consortium)
    certificate = (
        _builder(name, name, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, SHA256())
    )
    files = {AUTHORITY: _pem(certificate), KEY: _pem_of_key(key)}
    write_folder(Path(folder), files, private=True)


def issue(
    authority: str | Path,
    member: str,
    output: str | Path,
    host: str | Sequence[str],
    days: float = 7,
) -> Identity:
    """Make a member's key and certificate, short-lived because none can be revoked.

    Args:
        authority: The authority's folder, made by `init`.
        member: Name of the party, or "coordinator".
        output: Folder in which the member's own folder is made.
        host: Where its peers reach it: an IP address or a host name, or several.
        days: How long the certificate is valid.

    Returns:
        The member's files.

    Raises:
        GridveilError: The member's folder exists; the authority cannot be read or ends earlier; or
            a name, a host or the number of days is not possible.
    """
    authority_folder, output = Path(authority), Path(output)
    identity = identity_of(output, member)
    issuer = _read_certificate(authority_folder / AUTHORITY)
    issuer_key = _read_key(authority_folder / KEY)
    key = generate_private_key(SECP256R1())
    names = [_alternative_name(each) for each in ([host] if isinstance(host, str) else host)]
    if not names:
        raise GridveilError(f"{member} needs a host at which its peers can reach it")
    builder = (
        _builder(issuer.subject, _common_name(member), key.public_key(), days)
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
    certificate = builder.sign(issuer_key, SHA256())
    if certificate.not_valid_after_utc > issuer.not_valid_after_utc:
        raise GridveilError(
            f"{authority_folder}: the authority itself ends on "
            f"{issuer.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; choose fewer days than {days:g}"
        )
    files = {AUTHORITY: _pem(issuer), CERTIFICATE: _pem(certificate), KEY: _pem_of_key(key)}
    write_folder(identity.key.parent, files, private=True)
    return identity


def check_identity(identity: Identity, member: str) -> None:
    """Refuse files that the member's peers would refuse; peers do so without a message."""
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
    """Start a certificate that is valid from now; the clocks of other machines may be behind."""
    if not 0 < days <= _MAX_DAYS:
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
    """Return the only use of a key: to sign certificates, or TLS handshakes."""
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
