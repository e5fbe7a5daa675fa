"""Telegram on the wire."""
