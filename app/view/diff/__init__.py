"""What the Diff screen shows, without Textual."""
