"""The black-box invariants: what each catches, and what looks like it and is none."""
