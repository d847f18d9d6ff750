"""What a certificate says was done to private loads: the released ones keep it, by own formulas."""

import math
from collections.abc import Iterator

import numpy as np

from gridveil.claims import Claim, claim, stated
from gridveil.errors import GridveilError
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.publication.certificate import Certificate
from gridveil.publication.post_processing import are_at, consumer_places
from gridveil.publication.statements import post_processing_sentences
from gridveil.publication.verification.release_files import ReleaseFiles

_KEPT = 1e-6
"""By how much, in p.u., a load may miss a limit of consumers."""


def post_processing_claims(certificate: Certificate) -> Iterator[Claim]:
    """Check that the sentences follow, and that consumers and corrections are possible ones."""
    of = certificate.post_processing
    if of is None:
        return
    loads = certificate.load_buses
    are_consumers = are_at(loads, of.consumers)
    count = int(are_consumers.sum())
    wanted = post_processing_sentences(count, len(loads), of.power_factor, of.bias_corrected)
    claimed, same = " ".join(of.sentences), of.sentences == wanted
    yield claim("post-processing", claimed, "as it follows" if same else " ".join(wanted), same)
    listed = of.consumers == consumer_places(loads, are_consumers.tolist())
    name = "consumers"
    if not listed:
        found = "not loads of the network in its order, each once"
        yield claim(name, f"{len(of.consumers)} places", found, ok=False)
    elif of.consumers:
        why = "declared public by the owner, who alone knows whether it is so"
        yield stated(name, f"{count} of {len(loads)} loads", why)
    if of.bias_corrected:
        yield _correction(certificate.protection.mechanism)


def kept_claims(files: ReleaseFiles) -> Iterator[Claim]:
    """Check that the released loads of consumers keep their limits."""
    of = files.certificate.post_processing
    if of is None or not of.consumers:
        return
    at = np.flatnonzero(are_at(files.certificate.load_buses, of.consumers))
    p, q = files.loads.values[at].T  # idle loads come last / files.case.base_mva
    least = float(np.min(p, initial=math.inf))
    name, ok = "active power of consumers", least >= -_KEPT
    yield claim(name, f"0 or more, to {_KEPT:g} p.u.", f"{least:.3g} p.u. or more", ok)
    if of.power_factor is not None:
        beyond = float(np.max(np.abs(q) - p * math.tan(math.acos(of.power_factor))))
        claimed = f"{of.power_factor:g} or more, to {_KEPT:g} p.u. of Q"
        found = f"Q off by {max(beyond, 0.0):.1e} p.u. at most"
        yield claim("power factor of consumers", claimed, found, beyond <= _KEPT)


def _correction(mechanism: str) -> Claim:
    """Check that the noise of a mechanism has a bias; that it was corrected, the owner knows."""
    name, claimed = "correction of the bias", f"as {mechanism} does it"
    try:
        has_bias = MECHANISMS.get(mechanism).corrected is not Mechanism.corrected
    except GridveilError:
        return stated(name, claimed, "in the words of the mechanism's package")
    if not has_bias:
        return claim(name, claimed, "its noise has no bias", ok=False)
    return stated(name, claimed, "only the owner has the private loads before and after")
