"""The loops and the factorisation of the interior-point method on a CPU."""
