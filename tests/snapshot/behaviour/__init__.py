"""Tests of the terminal app: behaviour."""
