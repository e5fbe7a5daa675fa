"""Chat commands to the gateway itself: bind the current conversation, unbind it, list bindings."""
