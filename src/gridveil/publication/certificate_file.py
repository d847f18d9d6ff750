"""Reads the certificate of a release, whichever version it has."""

import json
from dataclasses import dataclass

from gridveil.errors import GridveilError, document_errors
from gridveil.printable import excerpt
from gridveil.publication.certificate import (
    VERSION,
    Certificate,
    document_bytes,
    document_digest,
)
from gridveil.publication.certificate_v1 import CertificateV1
from gridveil.publication.certificate_v2 import CertificateV2
from gridveil.publication.folder import CERTIFICATE

_KINDS: dict[int, type[Certificate | CertificateV1 | CertificateV2]] = {
    1: CertificateV1,
    2: CertificateV2,
    VERSION: Certificate,
}


@dataclass(frozen=True)
class ReadCertificate:
    """A certificate as it was read."""

    certificate: Certificate
    """What it states, in the terms of the present version."""
    computed_digest: str
    """The digest that its contents have, by the rule of its own version."""
    version: int
    """Its own version."""


def read_certificate(data: bytes) -> ReadCertificate:
    """Read a certificate, or say what is wrong with it."""
    kind = _KINDS[_version(data)]
    with document_errors(CERTIFICATE):
        document = kind.model_validate_json(data)
    if document_bytes(document) != data:  # names that stand there twice, for example
        raise GridveilError(f"{CERTIFICATE}: not as it was written: something was added")
    with document_errors(CERTIFICATE):
        certificate = document if isinstance(document, Certificate) else document.upgraded()
    return ReadCertificate(certificate, document_digest(document), document.version)


def _version(data: bytes) -> int:
    """Return the version a document has, or the present one where it does not say."""
    try:
        version = json.loads(data)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return VERSION
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise GridveilError(
            f"{CERTIFICATE}: version {excerpt(str(version), 20)}, but this program knows versions "
            f"up to {VERSION}; a newer Gridveil can verify it"
        )
    return version if version in tuple(_KINDS) else VERSION
