"""The contents of the screens, computed from a trace without Textual."""
