"""The validated model of a scenario file."""
