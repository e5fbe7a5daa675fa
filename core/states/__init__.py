"""State machines: each is one table, and an event that the table does not have is an error."""
