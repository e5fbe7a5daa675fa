"""The contents of the Invariants screen, without Textual."""
