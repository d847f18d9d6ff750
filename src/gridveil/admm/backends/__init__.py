"""Backends: what runs the iterations, the cores of this machine or its GPU."""
