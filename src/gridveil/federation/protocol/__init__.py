"""The messages of an iteration, and what the parties and the coordinator do with them."""
