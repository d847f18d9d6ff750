"""The release: the whole chain from a network to a folder that can be published, and its check."""
