"""What holds where nothing else is said: command line, Python, studies and federations alike."""

from typing import Final

MECHANISM: Final = "product-laplace"
"""Where a distance α in p.u. or MVA is given; a distance in per cent has its own."""
HIDE: Final = "10%"
"""What a release hides: a change of each load by so much."""
FLOOR: Final = "0.25"
"""In MVA: the load below which per cent turn into a fixed amount; less where loads are small."""
CALIBRATION: Final = "sound"
EPSILON: Final = "1"
ALPHA: Final = "0.1"
"""In p.u., for a mechanism with such a distance by name."""
BETA: Final = "0.01"
METHOD: Final = "bilevel"
"""For a band on costs."""
METHOD_WITHOUT_COSTS: Final = "central"
BAND: Final = "cost"
"""Of a network with costs; one without has "dispatch"."""
MAX_ITERATIONS: Final = 5000
"""Of the agents."""
TOLERANCE: Final = 1e-5
"""Of the agents' residuals, in p.u."""
AUDIT_TRIALS: Final = 60_000
