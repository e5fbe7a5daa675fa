"""What the Queue screen shows, without Textual."""
