"""Text: chunking, and rendering of Markdown for a channel."""
