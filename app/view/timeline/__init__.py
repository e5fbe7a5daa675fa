"""The contents of the Timeline screen, without Textual."""
