"""P_RBL solved by ADMM among agents: each load, generator, line and bus is one."""
