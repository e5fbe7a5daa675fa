"""What the scenario picker shows, without Textual."""
