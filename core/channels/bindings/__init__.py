"""Binding adapters: how a channel opens a conversation for a session."""
