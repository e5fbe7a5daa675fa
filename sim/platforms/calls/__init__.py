"""Calls of a fake platform: lines that ring, people who speak, and what they hear."""
