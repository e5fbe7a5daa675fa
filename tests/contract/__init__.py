"""Conformance kits, run on every adapter and store."""
