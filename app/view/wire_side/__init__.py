"""The contents of screens and reports about a gateway of which only the wire is known, without Textual."""
