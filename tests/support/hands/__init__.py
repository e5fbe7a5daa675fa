"""Delegated work in tests: a real gateway in virtual time, and a test that plays everybody around it."""
