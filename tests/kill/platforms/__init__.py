"""A server with accounts on four platforms is killed again and again, at random and at chosen moments of the wire."""
