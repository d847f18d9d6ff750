"""How much an audit plays, and when it believes what it found."""

CONFIDENCE = 0.99
"""Of all bounds together."""
REPLAYS = 2
"""How often a play that breaks the claim is made again before it is believed."""
LEAST_TRIALS, MOST_TRIALS = 1000, 100_000_000
"""Releases per pair."""
