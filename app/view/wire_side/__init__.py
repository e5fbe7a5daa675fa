"""What screens and reports show of a gateway of which only the wire is known, computed without Textual."""
