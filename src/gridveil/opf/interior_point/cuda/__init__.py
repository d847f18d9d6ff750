"""The loops and the factorisations of the interior-point method on a GPU."""
