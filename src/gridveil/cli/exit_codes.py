"""The exit codes of all commands; docs/results.md says the same to users."""

DONE = 0
"""The command did what it was asked for."""
CHECK_FAILED = 1
"""A check found something: a broken claim, a mechanism that gives away more, a refused budget."""
MISTAKE = 2
"""What was given cannot be used; nothing was drawn or charged."""
NOT_SOLVED = 3
"""A solve or a fidelity phase did not succeed, or was cut off with what it had reached."""
INTERRUPTED = 130
"""Ctrl-C ended the command, by convention 128 plus the number of SIGINT."""
