"""Text without a terminal: cells, facts, lazy lists."""
