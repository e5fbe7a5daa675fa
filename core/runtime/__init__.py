"""The effectful shell: it asks for decisions, applies them, and tells what it did. Nothing is decided here."""
