"""The tables: a module for each subject."""
