"""The SQL of mailboxes, and of what came of what people wrote."""
