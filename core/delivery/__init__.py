"""Delivery: the life cycle of an intent, as pure decisions (`states`, `policy`, `recovery`, `prepare`)."""
