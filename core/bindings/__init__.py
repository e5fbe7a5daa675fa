"""Session bindings: conversations that belong to a session, and where completions of sub-agents go (seed 002)."""
