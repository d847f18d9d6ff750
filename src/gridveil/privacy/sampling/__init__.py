"""Exact sampling on a grid, and fast sampling for simulation."""
