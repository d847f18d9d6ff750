"""What a table or figure came to: rows, a drawing, and what is worth saying about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from matplotlib.figure import Figure

from gridveil.defaults import AUDIT_TRIALS
from gridveil.experiments.run import Row
from gridveil.privacy.audit import audit
from gridveil.privacy.mechanisms.registry import MECHANISMS


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A table or figure, ready to be saved."""

    rows: Sequence[Row]
    """All alike; they become the CSV file."""
    figure: Figure
    findings: tuple[str, ...]
    """What was measured, in words, beside what the paper says."""


@cache
def audited_epsilon(mechanism: str, calibration: str, epsilon: float, alpha: float) -> float:
    """Return the ε that an audit of the exact sampler finds, at least, with 99 % confidence."""
    result = audit(
        mechanism, epsilon=epsilon, alpha=alpha, calibration=calibration, trials=AUDIT_TRIALS
    )
    return result.epsilon_lower_bound


def audit_finding(rows: Sequence[Row]) -> str:
    """Say what the audits of the mechanisms behind some rows found."""
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
