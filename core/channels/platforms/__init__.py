"""The rules of each channel, one module a channel."""
