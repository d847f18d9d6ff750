"""The agents on a GPU: the same functions as on a CPU, one thread an agent."""
