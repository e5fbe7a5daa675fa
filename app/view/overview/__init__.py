"""The contents of the Overview screen, without Textual."""
