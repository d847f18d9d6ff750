"""What a release will look like, by simulation, before anything is spent."""
