"""The Invariants screen."""
