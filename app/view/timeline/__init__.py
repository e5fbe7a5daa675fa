"""What the Timeline screen shows, without Textual."""
