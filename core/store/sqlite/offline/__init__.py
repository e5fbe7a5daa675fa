"""A store file read and changed without a running gateway."""
