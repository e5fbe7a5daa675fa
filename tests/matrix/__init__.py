"""The adapter of Matrix, and gateways that use it, against a real homeserver."""
