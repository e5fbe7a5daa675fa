"""The contents of the Queue screen, without Textual."""
