"""The effectful half of the core: applies pure decisions to ports, and records events. It decides nothing itself."""
