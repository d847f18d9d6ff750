"""The command line: one module to a command."""
