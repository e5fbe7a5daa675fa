"""What the Sessions screen shows, without Textual."""
