"""Session bindings at work: requests, the live index, expiry."""
