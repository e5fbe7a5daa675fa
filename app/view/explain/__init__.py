"""What the explain and Why panes shows, without Textual."""
