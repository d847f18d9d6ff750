"""Ed25519 signatures of certificates: who stands behind a release.

`certificate.sig` is a small JSON document. What is signed is `_DOMAIN`, the key's id and the bytes
of the certificate, so that a signature means nothing for any other document or key. A certificate
begins with a brace and `_DOMAIN` does not: signatures of the first form, base64 over the bare
bytes of the certificate as versions 0.1 and 0.2 wrote it, cannot be taken for the present one, nor
the other way round.

The key of a verifier may come in an X.509 certificate. Its subject and its expiry are shown then;
whoever issued it is not checked: that the key is the owner's has to be known otherwise.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Final, Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gridveil.errors import GridveilError
from gridveil.printable import excerpt

FORMAT: Final = "gridveil-signature"
VERSION: Final = 1

_DOMAIN = b"gridveil-signature version 1\n"
_KEY_ID = r"^[0-9a-f]{64}$"
_SIGNATURE = r"^[A-Za-z0-9+/]{86}==$"
_LONGEST_SUBJECT = 200
_X509 = b"-----BEGIN CERTIFICATE-----"


class SignatureState(Enum):
    """What is known of a signature; the value is how to say it."""

    UNSIGNED = "unsigned: anyone could have written this"
    MALFORMED = "certificate.sig is not a signature"
    UNCHECKED = "signed, not checked: give --key with the public key of who made the release"
    OTHER_KEY = "signed with another key than the one given"
    NOT_GENUINE = "not genuine: the owner of the key did not sign this certificate"
    GENUINE = "genuine"
    EXPIRED = "genuine, but the X.509 certificate of the key has expired"
    NOT_YET_VALID = "genuine, but the X.509 certificate of the key is not valid yet"


@dataclass(frozen=True)
class VerificationKey:
    """A public key to check signatures with, and what is known of it."""

    key: Ed25519PublicKey
    key_id: str
    """SHA-256 of the key's SubjectPublicKeyInfo in DER, in hexadecimal."""
    subject: str | None = None
    """Of the X.509 certificate that it came in, if any; who issued that is not checked."""
    expires: datetime | None = None
    """When that certificate ends, UTC."""
    begins: datetime | None = None
    """When that certificate begins to be valid, UTC."""

    def is_early(self, now: datetime) -> bool:
        """Whether the key's certificate is not valid yet."""
        return self.begins is not None and now < self.begins

    def is_expired(self, now: datetime) -> bool:
        """Whether the key's certificate has ended."""
        return self.expires is not None and now > self.expires


@dataclass(frozen=True)
class SignatureCheck:
    """What a check of a signature found, and whose it is."""

    state: SignatureState
    key_id: str | None = None
    """The key that the signature names; the given one where it names none."""
    subject: str | None = None
    """Of the X.509 certificate of the given key, if it came in one."""
    expires: datetime | None = None
    """When that certificate ends, UTC."""

    @property
    def is_genuine(self) -> bool:
        """Whether the owner of the given key signed the certificate, whenever that may have been.

        The X.509 certificate of the key may have expired since, or not be valid yet.
        """
        return self.state in (
            SignatureState.GENUINE,
            SignatureState.EXPIRED,
            SignatureState.NOT_YET_VALID,
        )


class _Document(BaseModel):
    """The contents of `certificate.sig`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["gridveil-signature"]
    version: Literal[1]
    algorithm: Literal["Ed25519"]
    key_id: Annotated[str, Field(pattern=_KEY_ID)]
    signature: Annotated[str, Field(pattern=_SIGNATURE)]

    def to_bytes(self) -> bytes:
        return (json.dumps(self.model_dump(), indent=2) + "\n").encode()


@dataclass(frozen=True)
class _Signature:
    """A signature as it was read; one of the first form does not name its key."""

    value: bytes
    key_id: str | None

    def message(self, certificate: bytes) -> bytes:
        """Return what must have been signed."""
        return certificate if self.key_id is None else _message(self.key_id, certificate)


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read an unencrypted Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` writes it."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise GridveilError(f"{path}: no private key could be read: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise GridveilError(
            f"{path}: an Ed25519 key is needed ('openssl genpkey -algorithm ed25519')"
        )
    return key


def read_public_key(path: Path) -> VerificationKey:
    """Read an Ed25519 public key in PEM, or an X.509 certificate in PEM that holds one.

    `openssl pkey -in KEY -pubout` writes the one, `openssl req -x509 -key KEY` the other. Of a
    certificate, neither its issuer nor its signature is checked.
    """
    try:
        data = path.read_bytes()
        certificate = x509.load_pem_x509_certificate(data) if _X509 in data else None
        key = load_pem_public_key(data) if certificate is None else certificate.public_key()
        subject = None if certificate is None else certificate.subject.rfc4514_string()
        expires = None if certificate is None else certificate.not_valid_after_utc
        begins = None if certificate is None else certificate.not_valid_before_utc
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise GridveilError(f"{path}: no public key could be read: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise GridveilError(f"{path}: an Ed25519 public key is needed ('openssl pkey -pubout')")
    shown = None if subject is None else excerpt(subject, _LONGEST_SUBJECT)
    return VerificationKey(key, key_id_of(key), shown, expires, begins)


def as_verification_key(
    key: VerificationKey | Ed25519PublicKey | Path | str | None,
) -> VerificationKey | None:
    """Return a key that is given as such, bare, or by its file, if one is."""
    if isinstance(key, Path | str):
        return read_public_key(Path(key))
    return VerificationKey(key, key_id_of(key)) if isinstance(key, Ed25519PublicKey) else key


def key_id_of(key: Ed25519PublicKey) -> str:
    """Return the id of a key: SHA-256 of its SubjectPublicKeyInfo in DER, in hexadecimal."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def sign(key: Ed25519PrivateKey, certificate: bytes) -> bytes:
    """Return the signature of a certificate's bytes, as a file; always the same for the same."""
    key_id = key_id_of(key.public_key())
    value = base64.b64encode(key.sign(_message(key_id, certificate))).decode()
    return _Document(
        format=FORMAT, version=VERSION, algorithm="Ed25519", key_id=key_id, signature=value
    ).to_bytes()


def check_signature(
    signature: bytes | None,
    certificate: bytes,
    key: VerificationKey | None,
    now: datetime | None = None,
) -> SignatureCheck:
    """Check the signature of a certificate.

    Args:
        signature: The contents of `certificate.sig`; None without that file.
        certificate: The contents of `certificate.json`.
        key: The key of who made the release, from a source the verifier trusts; None without one.
        now: When the key must be valid; the present time if None.

    Example:
        >>> key = Ed25519PrivateKey.generate()
        >>> public = as_verification_key(key.public_key())
        >>> check_signature(sign(key, b"{}"), b"{}", public).state.value
        'genuine'
    """
    if signature is None:
        return _of_key(SignatureState.UNSIGNED, key)
    read = _read(signature)
    if read is None:
        return _of_key(SignatureState.MALFORMED, key)
    if key is None:
        return SignatureCheck(SignatureState.UNCHECKED, read.key_id)
    if read.key_id not in (None, key.key_id):
        return SignatureCheck(SignatureState.OTHER_KEY, read.key_id)
    try:
        key.key.verify(read.value, read.message(certificate))
    except InvalidSignature:
        return _of_key(SignatureState.NOT_GENUINE, key)
    at = datetime.now(UTC) if now is None else now
    if key.is_early(at):
        return _of_key(SignatureState.NOT_YET_VALID, key)
    return _of_key(SignatureState.EXPIRED if key.is_expired(at) else SignatureState.GENUINE, key)


def _of_key(state: SignatureState, key: VerificationKey | None) -> SignatureCheck:
    if key is None:
        return SignatureCheck(state)
    return SignatureCheck(state, key.key_id, key.subject, key.expires)


def _message(key_id: str, certificate: bytes) -> bytes:
    return _DOMAIN + key_id.encode() + b"\n" + certificate


def _read(data: bytes) -> _Signature | None:
    """Return the signature that a file holds in either form, if it holds one."""
    text = data.strip()
    if re.fullmatch(_SIGNATURE.encode(), text):
        return _signature(text.decode(), None)
    try:
        document = _Document.model_validate_json(data)
    except ValidationError:
        return None
    if document.to_bytes() != data:  # names that stand there twice, for example
        return None
    return _signature(document.signature, document.key_id)


def _signature(text: str, key_id: str | None) -> _Signature | None:
    """Return a signature from base64, if its unused bits are zero as every encoder has them."""
    value = base64.b64decode(text)
    return _Signature(value, key_id) if base64.b64encode(value).decode() == text else None
