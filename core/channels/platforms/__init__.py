"""The rules of each channel, one module per channel."""
