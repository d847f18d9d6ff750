"""Studies too long for the test suite; each writes its table beside itself."""
