"""Loads, follows and explores runs for the command line and the app."""
