"""The Diff screen."""
