"""What the screens show of heartbeats, without Textual."""
