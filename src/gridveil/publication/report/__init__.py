"""The report of a release: one page that needs nothing but a browser."""
