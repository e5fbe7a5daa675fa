"""Splits a text into chunks that a platform accepts."""
