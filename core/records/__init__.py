"""Records: what the gateway remembers, as values."""
