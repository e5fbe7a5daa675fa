"""The Queue screen."""
