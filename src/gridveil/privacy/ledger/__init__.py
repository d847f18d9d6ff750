"""The ledger: whose loads they are, what has been spent on them, and what may still be spent."""
