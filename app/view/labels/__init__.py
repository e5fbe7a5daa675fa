"""A label for each event."""
