"""The contents of the Messages screen, without Textual."""
