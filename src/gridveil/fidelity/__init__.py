"""The fidelity phase: the loads closest to the noisy ones with which the network works."""
