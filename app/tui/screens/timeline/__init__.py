"""The Timeline screen."""
