"""`python -m gridveil` is the `gridveil` command."""

from gridveil.cli.main import main

main()
