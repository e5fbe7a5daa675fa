"""What operators change in a running gateway: the queue, sessions, keys."""
