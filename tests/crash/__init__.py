"""Crashes swept over whole scenarios."""
