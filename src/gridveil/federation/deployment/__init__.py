"""Members from configuration files, and what they publish."""
