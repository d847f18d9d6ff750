"""The CUDA backend: the same agents as on a CPU, one thread per agent."""
