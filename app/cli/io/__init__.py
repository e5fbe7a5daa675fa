"""Input and output of the command line."""
