"""The contents of the Sessions screen, without Textual."""
