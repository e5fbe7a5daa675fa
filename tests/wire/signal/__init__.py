"""Signal on the wire."""
