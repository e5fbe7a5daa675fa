"""One fake platform per module."""
