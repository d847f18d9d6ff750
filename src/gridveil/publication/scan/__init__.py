"""A last look at the files of a release, on its owner's side, for numbers that are raw loads."""
