"""The delivery loop: preparation, attempts, settlement, recovery."""
