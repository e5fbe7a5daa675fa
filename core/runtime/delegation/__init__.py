"""Runs the hands that agents delegate to."""
