"""Release checks: suites as data, and the checkpoint that enforces them."""
