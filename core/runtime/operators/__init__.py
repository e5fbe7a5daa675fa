"""Changes of operators in a running gateway: the queue, sessions, keys."""
