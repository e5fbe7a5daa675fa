"""The calls to fake platforms, and the pushes of fake platforms."""
