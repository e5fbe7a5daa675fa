"""Discord on the wire."""
