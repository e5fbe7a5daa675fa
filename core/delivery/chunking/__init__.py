"""Cuts a text into chunks that a platform accepts."""
