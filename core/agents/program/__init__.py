"""Programs as agents: JSON lines over standard input and output, so that any language can be an agent."""
