"""Checks of a scenario that need its world: what the platforms promise, and what people can do on them."""
