"""Members as processes: configuration, what they publish, and the release made from it."""
