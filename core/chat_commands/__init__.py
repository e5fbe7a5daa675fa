"""Commands that people give the gateway itself: to bind the conversation they are in, to unbind it, to see what is."""
