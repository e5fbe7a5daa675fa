"""The Overview screen."""
