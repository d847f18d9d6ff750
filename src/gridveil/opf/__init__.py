"""Central optimisation with Ipopt: AC-OPF, and what its problems share."""
