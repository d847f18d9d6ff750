"""The privacy phase: mechanisms, exact sampling, the budget ledger and the audit."""
