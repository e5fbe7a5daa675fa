"""What the shipped scenarios exercise of the gateway and of the language of scenario files, and what they do not."""
