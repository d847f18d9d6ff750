"""Ed25519 signatures: who stands behind a release."""

import base64
import binascii
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from gridveil.errors import GridveilError


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


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read an Ed25519 public key in PEM, as `openssl pkey -in KEY -pubout` writes it."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise GridveilError(f"{path}: no public key could be read: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise GridveilError(f"{path}: an Ed25519 public key is needed ('openssl pkey -pubout')")
    return key


def sign(key: Ed25519PrivateKey, certificate: bytes) -> bytes:
    """Return the signature of a certificate's bytes, as a text file."""
    return base64.b64encode(key.sign(certificate)) + b"\n"


def is_signed(key: Ed25519PublicKey, certificate: bytes, signature: bytes) -> bool:
    """Whether a signature is that of the certificate by the key's owner."""
    try:
        key.verify(base64.b64decode(signature.strip(), validate=True), certificate)
    except (InvalidSignature, binascii.Error):
        return False
    return True
