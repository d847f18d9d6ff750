"""AC-OPF samples for learning, made from what was released."""
