"""The fault catalog, the palette, and where a fault is placed."""
