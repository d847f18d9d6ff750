"""Strategies for Gridveil that are no part of Gridveil."""
