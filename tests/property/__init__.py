"""Generated inputs and stateful tests."""
