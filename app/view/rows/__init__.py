"""Rows of the timeline: what a row holds, and the lanes that it spans."""
