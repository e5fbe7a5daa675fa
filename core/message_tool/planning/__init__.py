"""Decides about a call before anything is done: its target, its channel, and whether anything is missing. Pure."""
