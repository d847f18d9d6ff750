"""Which party owns what, what each holds, and its agents as arrays."""
