"""The Picker screen."""
