"""What the Messages screen shows, without Textual."""
