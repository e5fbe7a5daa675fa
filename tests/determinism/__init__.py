"""Same scenario and same seed give a byte-identical trace."""
