"""Real gateway processes, killed while they work, on real store files."""
