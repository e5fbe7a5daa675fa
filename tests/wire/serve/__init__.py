"""``trunkline serve`` with accounts of real platforms."""
