"""Federated releases: each party runs its own agents, with its own slice and its own ledger."""
