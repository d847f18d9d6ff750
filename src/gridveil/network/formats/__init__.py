"""Case formats: recognise, read, write; one format to a file."""
