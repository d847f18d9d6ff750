"""Released series in the files of other tools."""
