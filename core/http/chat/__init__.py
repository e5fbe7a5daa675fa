"""The WebSocket of the web chat: one person's conversation with an agent, resumed by a cursor."""
