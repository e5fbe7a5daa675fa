"""The adapter of Discord without sockets."""
