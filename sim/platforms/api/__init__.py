"""The calls that fake platforms answer, and the pushes they make."""
