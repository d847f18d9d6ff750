"""The check of a released series: every hour recomputed by the verifier's own formulas."""
