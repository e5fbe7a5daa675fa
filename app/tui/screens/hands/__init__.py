"""The Hands screen."""
