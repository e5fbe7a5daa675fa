"""The session map: from a session key to a session, created at most once."""
