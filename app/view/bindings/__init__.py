"""What the Bindings screen shows, without Textual."""
