"""The SQL of changes: whose message is meant, and what a change does to a transcript."""
