"""Splits a text into chunks for a platform."""
