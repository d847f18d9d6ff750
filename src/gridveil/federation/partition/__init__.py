"""Which party owns what, the slice of the network that each holds, and its agents."""
