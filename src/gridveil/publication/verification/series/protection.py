"""What a certificate says of the protection of a series: the mechanism made again from ε and α."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from gridveil.claims import Claim, claim, number_claim, proved, stated
from gridveil.errors import GridveilError
from gridveil.network.series.load_series import hour_text
from gridveil.privacy.calibration import exact
from gridveil.privacy.hide import HiddenIn
from gridveil.privacy.series.mechanism import NAME, SeriesMechanism
from gridveil.privacy.series.promise import SeriesPromise, SeriesPromiseKind
from gridveil.publication.certificate import Certificate, StatedSeries
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.series.statements import (
    METRICS,
    series_invariants,
    series_not_covered,
    series_statement,
    series_unit,
)
from gridveil.publication.statements import LARGEST_BASE, SMALLEST_BASE, is_plausible_base
from gridveil.publication.verification.protection import OwnLoss, named_claim, owner_claims

_EXACT = 1e-12
_TOTAL = "total_epsilon"
_THEOREM = (
    "noise of scale b_j ≥ D/(ε·r_j) on coefficient j of the public basis, from these parameters: "
    "the theorem at the top of privacy/series/mechanism.py"
)


def series_protection_claims(read: ReadCertificate) -> Iterator[Claim]:
    """Check that the promise follows from the parameters, and say what has to be believed."""
    certificate = read.certificate
    of, base, series = certificate.protection, certificate.base_mva, certificate.series
    assert series is not None
    wanted = f"{SMALLEST_BASE:g} to {LARGEST_BASE:g} MVA"
    yield claim("base", f"{base:g} MVA", f"plausible: {wanted}", is_plausible_base(base))
    try:
        mechanism, promise = stated_mechanism(of.parameters)
    except (GridveilError, ArithmeticError) as error:
        found = f"its parameters make no mechanism: {error}"
        yield claim("mechanism", of.mechanism, found, ok=False)
        return
    yield claim("mechanism", of.mechanism, NAME, of.mechanism == NAME)
    yield from _parameters(certificate, series, mechanism, promise)
    yield from _promise(certificate, promise)
    yield from _public(certificate, series)
    least = float(min(alpha * mechanism.base_mva for alpha in mechanism.alphas))
    whole = replace(mechanism, promise=promise)
    lost, of_all = _largest_loss(whole), _largest_loss(whole, whole.hours)
    yield from owner_claims(read, OwnLoss(float(lost), float(of_all), least))
    yield named_claim(certificate)
    yield stated("smoothed with", series.smoothing, "a public prior, which only the owner can name")
    why = "only the owner has the private series before it"
    yield stated("what smoothing did", series.smoothing_effect, why)


def series_whole_claim(certificate: Certificate) -> Claim:
    """Check that what is said of the folder as a whole follows from its promise."""
    name, claimed = "private as a whole", certificate.statement
    try:
        _, promise = stated_mechanism(certificate.protection.parameters)
    except (GridveilError, ArithmeticError):
        return claim(name, claimed, "its parameters make no mechanism", ok=False)
    follows = series_statement(promise)
    if (claimed, certificate.private_as_a_whole) != (follows, True):
        return claim(name, claimed, f"as stated, it would be: {follows}", ok=False)
    return stated(
        name, claimed, "follows from the mechanism; only the owner knows that it was used"
    )


def stated_mechanism(parameters: Mapping[str, str]) -> tuple[SeriesMechanism, SeriesPromise]:
    """Return the mechanism of the loads, and the promise of all that is drawn of them.

    A private total is measured in the same basis, with noise for the largest distance and a part of
    ε of its own (privacy/series/total.py).
    """
    mechanism = SeriesMechanism.from_specification(parameters)
    of_total = exact(parameters.get(_TOTAL, "0"), "total epsilon")
    if of_total < 0 or (_TOTAL in parameters and str(of_total) != parameters[_TOTAL]):
        raise GridveilError("the part of ε for the total is none")
    return mechanism, replace(mechanism.promise, epsilon=mechanism.promise.epsilon + of_total)


def _parameters(
    certificate: Certificate,
    series: StatedSeries,
    mechanism: SeriesMechanism,
    promise: SeriesPromise,
) -> Iterator[Claim]:
    """Check the figures that follow from the exact parameters."""
    of = certificate.protection
    beyond = set(of.parameters) - set(mechanism.specification()) - {"ratings_source", _TOTAL}
    found = ", ".join(sorted(beyond)[:3]) or "none"
    yield claim("other parameters", "none", found, not beyond)
    base = exact(certificate.base_mva, "base")
    yield claim(
        "base of the mechanism", str(base), str(mechanism.base_mva), mechanism.base_mva == base
    )
    epsilon, of_total = promise.epsilon, promise.epsilon - mechanism.promise.epsilon
    yield number_claim("epsilon", of.epsilon, float(epsilon), 0.0)
    yield number_claim("of it, for the total", of.epsilon_costs, float(of_total), 0.0)
    yield number_claim("delta", of.delta, 0.0, 0.0)
    step = float(min(mechanism.steps))
    yield number_claim("smallest grid step (p.u.)", of.grid_step_pu, step, _EXACT)
    scales = list(mechanism.scales)
    same = len(scales) == len(series.noise_scales) and all(
        abs(one - other) <= _EXACT * other
        for one, other in zip(series.noise_scales, scales, strict=True)
    )
    claimed = ", ".join(f"{scale:.6g}" for scale in series.noise_scales[:4])
    shown = "those that follow from ε, α and the basis" if same else "others follow"
    yield claim("noise scales b_j", claimed, shown, same)
    digest = mechanism.basis_digest
    yield claim("basis digest", series.basis_digest, digest, series.basis_digest == digest)
    first, hours = hour_text(mechanism.first_hour), mechanism.hours
    yield claim(
        "hours",
        f"{series.hours} from {series.first_hour}",
        f"{hours} from {first}",
        (series.hours, series.first_hour) == (hours, first),
    )
    loads = len(certificate.load_buses)
    yield claim(
        "distances", f"of {mechanism.loads} loads", f"{loads} loads", mechanism.loads == loads
    )
    lost = _largest_loss(replace(mechanism, promise=promise))
    yield _distances(certificate, mechanism)
    claimed, found = f"at most {float(epsilon):g}", f"{float(lost):.9g}"
    yield claim("loss within any window", claimed, found, lost <= epsilon)


def _distances(certificate: Certificate, mechanism: SeriesMechanism) -> Claim:
    """Check that what is hidden of each load is what the promise names; ratings are believed."""
    name, hide = "distance of each load", mechanism.promise.hide
    if hide.unit is HiddenIn.MVA:
        wanted = mechanism.promise.alphas(mechanism.loads, mechanism.base_mva)
        ok = mechanism.alphas == wanted
        return claim(name, str(hide), str(hide) if ok else "others in the parameters", ok)
    ratings = [float(alpha * mechanism.base_mva / hide.amount) for alpha in mechanism.alphas]
    source = certificate.protection.parameters.get("ratings_source", "")
    claimed = f"{hide} of {min(ratings):.6g} to {max(ratings):.6g} MVA"
    return stated(name, claimed, f"ratings as they follow from α; their source is: {source}")


def _largest_loss(mechanism: SeriesMechanism, width: int | None = None) -> Fraction:
    """Return the most that the hours of any window lose together, added up hour by hour.

    Args:
        mechanism: What draws the release.
        width: The hours of the window; those of the promise if None.
    """
    losses = mechanism.hourly_losses().losses
    if mechanism.promise.kind is SeriesPromiseKind.ENERGY:
        return max(losses)
    width = mechanism.promise.window_hours(mechanism.hours) if width is None else width
    window = most = sum(losses[:width], Fraction(0))
    for hour in range(width, len(losses)):
        window += losses[hour] - losses[hour - width]
        most = max(most, window)
    return most


def _promise(certificate: Certificate, promise: SeriesPromise) -> Iterator[Claim]:
    of, kind = certificate.protection, promise.kind
    sentence = promise.sentence()
    if of.promise == sentence and not of.caution:
        yield proved("promise", of.promise, _THEOREM)
    else:
        yield claim("promise", of.promise, f"it would be: {sentence}", ok=False)
    for name, claimed, found in (
        ("kind of promise", str(certificate.series and certificate.series.promise), kind.value),
        ("metric", of.metric, METRICS[kind]),
        ("unit of protection", of.unit, series_unit(kind)),
        ("budget", of.kind, "energy" if kind is SeriesPromiseKind.ENERGY else "absolute"),
    ):
        yield claim(name, claimed, found, claimed == found)


def _public(certificate: Certificate, series: StatedSeries) -> Iterator[Claim]:
    """Check what is said to be public, and what the promise does not cover."""
    held_to, done = certificate.stated_target, certificate.post_processing
    wanted = series_invariants(
        certificate.target,
        "" if held_to is None else held_to.source,
        certificate.protection.parameters.get("ratings_source", ""),
        False if done is None else bool(done.consumers),
        None if done is None else done.power_factor,
        series.has_ramps,
    )
    ok = tuple((one.what, one.provenance) for one in certificate.invariants) == wanted
    ok &= certificate.provenance == "private" and not certificate.kept
    yield claim("what is public", "as it follows", "as stated" if ok else "otherwise", ok)
    of = certificate.protection
    beyond = (of.noise_scale_pu, of.bounds or None, held_to and getattr(held_to, "true_cost", None))
    none = all(value is None for value in beyond)
    found = "none" if none else "some"
    yield claim("single noise scale, bounds, interval for the true cost", "none", found, none)
    listed = certificate.protection.not_covered
    same = listed == series_not_covered()
    found = "as it follows" if same else "sentences are missing or other"
    yield claim("what is not covered", f"{len(listed)} sentences", found, same)
