"""The terminal: harmless output, and the version."""
