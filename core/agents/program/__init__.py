"""Programs as agents: JSON lines over standard input and output, for any language."""
