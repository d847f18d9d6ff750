"""Load series in the privacy phase: promises, the mechanism, the ledger, and post-processing."""
