"""The Bindings screen."""
