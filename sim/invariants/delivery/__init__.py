"""Invariants of delivery: once, in order, bounded, never silent."""
