"""Studies over many draws, settings and networks: seeded, repeatable, not private."""
