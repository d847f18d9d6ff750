"""Where the agents run: the cores of this machine, or its GPU."""
