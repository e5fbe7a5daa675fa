"""SQL statements, by the table they work on."""
