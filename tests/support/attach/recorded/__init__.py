"""Wires that were recorded as one fact a line, before there were traces of them, read as traces."""
