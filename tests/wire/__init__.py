"""Real adapters, servers on the wire, and clients that are not ours."""
