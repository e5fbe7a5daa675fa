"""What the Invariants screen shows, without Textual."""
