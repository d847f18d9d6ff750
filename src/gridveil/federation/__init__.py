"""Parties that run apart: each with its own slice of the network, its agents and its ledger."""
