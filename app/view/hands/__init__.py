"""The contents of the Hands screen, without Textual."""
