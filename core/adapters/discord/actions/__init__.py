"""What the message tool asks of Discord: changes, questions, names."""
