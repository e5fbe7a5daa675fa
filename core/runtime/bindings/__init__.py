"""Session bindings of a running gateway: the service, the live state, expiry."""
