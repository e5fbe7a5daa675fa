"""Markdown, read once and rendered in each platform's own markup."""
