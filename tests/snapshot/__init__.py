"""Pictures of the terminal app."""
