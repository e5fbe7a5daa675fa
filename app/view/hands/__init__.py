"""What the Hands screen shows, without Textual."""
