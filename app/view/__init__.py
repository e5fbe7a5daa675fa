"""What the screens show, computed from a trace without Textual."""
