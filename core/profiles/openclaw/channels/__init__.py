"""How OpenClaw names conversations: subclasses of our rules of channels."""
