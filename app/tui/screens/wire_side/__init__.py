"""The lists for a gateway of which only the wire is known."""
