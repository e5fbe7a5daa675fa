"""The adapter of Telegram."""
