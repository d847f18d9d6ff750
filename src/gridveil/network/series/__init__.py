"""Loads hour by hour: read from files, or made up."""
