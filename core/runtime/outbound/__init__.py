"""The outbound path: preparation, the delivery loop, attempts, settlement, recovery."""
