"""The Messages screen."""
