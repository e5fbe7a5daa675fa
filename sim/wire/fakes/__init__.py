"""Fake platforms for anybody's tests: a world on the wire without a gateway of ours, and how tests control it."""
