"""What holds where nothing else is said: command line, Python, studies and federations alike."""

from typing import Final

MECHANISM: Final = "polar-laplace"
CALIBRATION: Final = "sound"
EPSILON: Final = "1"
ALPHA: Final = "0.1"
"""In p.u."""
BETA: Final = "0.01"
METHOD: Final = "bilevel"
BAND: Final = "generator"
MAX_ITERATIONS: Final = 5000
"""Of the agents."""
TOLERANCE: Final = 1e-5
"""Of the agents' residuals, in p.u."""
AUDIT_TRIALS: Final = 60_000
