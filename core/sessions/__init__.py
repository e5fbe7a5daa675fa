"""The session map: from a session key to its session, which is created at most once."""
