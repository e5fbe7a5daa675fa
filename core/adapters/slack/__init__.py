"""The adapter of Slack."""
