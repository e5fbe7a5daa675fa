"""Matrix on the wire."""
