"""Tests of the terminal app: screens."""
