"""What a user's mistake raises: an error whose text says what went wrong, where, and what to do."""


class GridveilError(Exception):
    """A mistake the user can mend. The command line prints its text and exits with status 2."""
