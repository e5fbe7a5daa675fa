"""The SQL of delegations and their callbacks."""
