"""A server under load over HTTP and WebSocket is killed again and again."""
