"""An interior-point method for network programs, on a CPU or a GPU."""
