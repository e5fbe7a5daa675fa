"""The contents of the Diff screen, without Textual."""
