"""What the Overview screen shows, without Textual."""
