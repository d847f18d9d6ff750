"""The audit: guessing games against a sampler in use, which bound its true ε from below."""

from gridveil.privacy.audit.result import AuditResult, AuditVerdict, PairResult, Play, Repetition
from gridveil.privacy.audit.run import audit
from gridveil.privacy.audit.subject import audit_bounds

__all__ = [
    "AuditResult",
    "AuditVerdict",
    "PairResult",
    "Play",
    "Repetition",
    "audit",
    "audit_bounds",
]
