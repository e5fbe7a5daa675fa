"""The contents of the Bindings screen, without Textual."""
