"""Privacy mechanisms, one to a file with its proof on top, and their registry."""
