"""Authenticated channels between members, and the certificates they need."""
