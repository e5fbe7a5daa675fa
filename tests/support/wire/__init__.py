"""Real adapters against the servers on the wire."""
