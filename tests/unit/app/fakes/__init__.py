"""The fakes at the command line."""
