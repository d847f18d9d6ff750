"""Audits of the mechanisms behind a table or figure: what ε they really have, at least."""

from collections.abc import Sequence
from functools import cache

from gridveil.defaults import AUDIT_TRIALS
from gridveil.experiments.run import Row
from gridveil.privacy.audit import audit
from gridveil.privacy.mechanisms.registry import MECHANISMS


@cache
def audited_epsilon(mechanism: str, calibration: str, epsilon: float, alpha: float) -> float:
    """Return the ε that an audit of the exact sampler finds, at least, with 99 % confidence."""
    result = audit(
        mechanism, epsilon=epsilon, alpha=alpha, calibration=calibration, trials=AUDIT_TRIALS
    )
    return result.epsilon_lower_bound


def audit_finding(rows: Sequence[Row]) -> str:
    """Return a sentence with the audited ε of every mechanism that rows name."""
    found = {
        (row["mechanism"], row["calibration"], row["epsilon"], row["alpha"]): row["audited_epsilon"]
        for row in rows
    }
    parts = [
        f"{_named(mechanism, calibration)} at α = {alpha:g}: ε ≥ {bound:.2f} where {epsilon:g} is "
        f"claimed{', broken' if bound > epsilon else ''}"
        for (mechanism, calibration, epsilon, alpha), bound in found.items()
    ]
    return f"Audited ({AUDIT_TRIALS:,} releases per pair, 99 % confidence): {'; '.join(parts)}."


def _named(mechanism: str, calibration: str) -> str:
    if not MECHANISMS.get(mechanism).calibrations:
        return mechanism
    return f"{mechanism} {'as printed' if calibration == 'paper' else 'calibrated soundly'}"
