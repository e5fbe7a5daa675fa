"""Pure tests: no store, no clock, no network."""
