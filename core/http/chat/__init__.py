"""Chats over HTTP: inbound messages and their outcomes, and the web chat over a WebSocket."""
