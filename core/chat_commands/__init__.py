"""Chat commands to the gateway itself: bind and unbind the conversation, list bindings, list and end tasks of hands."""
