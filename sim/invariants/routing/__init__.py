"""Invariants of routes, return addresses and audiences."""
