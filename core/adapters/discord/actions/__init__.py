"""Actions of the message tool on Discord: changes, queries, names."""
