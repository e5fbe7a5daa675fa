"""Plug-ins: what is refused, what is an error of a plug-in, and what their objects do in a run."""
