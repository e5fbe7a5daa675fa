"""Text: cutting it into chunks, and rendering its Markdown for a channel."""
