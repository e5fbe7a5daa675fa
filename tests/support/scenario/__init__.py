"""Helpers for the tests of this kind."""
