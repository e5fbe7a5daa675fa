"""Session bindings: conversations of a session, and the destinations of sub-agent completions."""
