"""The fidelity phase among agents: loads, generators, lines and buses solve P_RBL by ADMM."""
