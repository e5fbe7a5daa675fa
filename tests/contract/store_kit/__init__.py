"""The contract of a store, as checks that every store must pass."""
