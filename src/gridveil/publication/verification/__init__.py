"""Checks a release as its recipient would."""
