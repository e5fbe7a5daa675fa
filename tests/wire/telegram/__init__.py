"""Telegram: the real adapter, and its fake."""
