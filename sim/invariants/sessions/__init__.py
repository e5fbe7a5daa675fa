"""Invariants of session keys, mirrors and bindings."""
