"""Session bindings: conversations that belong to a session, and the destinations of sub-agent completions."""
