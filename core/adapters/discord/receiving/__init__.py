"""How messages come from Discord."""
