"""The toy: a small gateway whose defects can be switched on, to test what judges gateways."""
